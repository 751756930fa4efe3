"""How text becomes numbers: every choice, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attentest.errors import InputError
from attentest.settings import check_values, setting

TOKENIZERS = {
    "word": "words, numbers and single punctuation marks; n't and 's apart, as GloVe has them",
    "whitespace": "what stands between blanks, for text that is tokenised already",
}


@dataclass(frozen=True)
class TextSettings:
    tokenizer: str = setting(
        "word", "Tokenizer: words and punctuation marks, or split at white space only.", choices=TOKENIZERS
    )
    lower: bool = setting(True, "Lower-case the texts, or keep their case.", flags=("lower", "keep-case"))
    digits: Literal["keep", "qqq"] = setting(
        "keep", "Tokens with a digit: keep them, or replace each with qqq as Jain & Wallace 2019 do."
    )
    min_frequency: int = setting(
        1, "Minimum count of a token in the training texts; rarer tokens become unknown.", least=1
    )
    min_tokens: int = setting(
        1, "Minimum number of tokens in a text; shorter texts are dropped.", least=1, most=1_000_000
    )
    max_tokens: int = setting(
        1000, "Maximum number of tokens in a text; longer texts are cut or dropped.", least=1, most=10_000_000
    )
    long: Literal["cut", "drop"] = setting("cut", "Texts over `max_tokens`: cut or drop.")
    vectors: str = setting(
        "random", "Word vectors: random, glove-6b-50d, or a text file in GloVe or word2vec format.", metavar="NAME|FILE"
    )
    dimension: int = setting(300, "Dimension of random word vectors; files have their own.", least=1, most=100_000)

    def __post_init__(self) -> None:
        check_values(self)
        if self.max_tokens < self.min_tokens:
            raise InputError(f"max_tokens {self.max_tokens} is less than min_tokens {self.min_tokens}.")
