"""How text becomes numbers: every choice, in one place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from attentest.errors import InputError
from attentest.settings import check_values, setting

TOKENIZERS = {
    "word": "words, numbers and single punctuation marks; n't and 's apart, as GloVe has them",
    "whitespace": "what stands between blanks, for text that is tokenised already",
}
MOST_TOKENS = 10_000_000  # of a text


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
        1000, "Maximum number of tokens in a text; `long` says what happens to longer ones.", least=1, most=MOST_TOKENS
    )
    long: Literal["cut", "drop", "windows"] = setting(
        "cut", "Texts over `max_tokens`: cut, drop, or (pretrained encoders) read in windows of that many tokens."
    )
    stride: int = setting(
        0, "Word pieces that consecutive windows of a text share, with `long` windows.", least=0, most=MOST_TOKENS
    )
    vectors: str = setting(
        "random",
        "Word vectors: random, glove-6b-50d, glove-840b-300d, or a text file in GloVe or word2vec format.",
        metavar="NAME|FILE",
    )
    dimension: int = setting(300, "Dimension of random word vectors; files have their own.", least=1, most=100_000)

    vector_scale: float = setting(0.1, "Standard deviation of the numbers of random word vectors.", above=0, most=100)

    def __post_init__(self) -> None:
        check_values(self)
        if self.max_tokens < self.min_tokens:
            raise InputError(f"max_tokens {self.max_tokens} is less than min_tokens {self.min_tokens}.")
        if self.stride and self.long != "windows":
            raise InputError(f"stride {self.stride} is what windows share; give `long='windows'`, too.")

    def in_one_piece(self) -> TextSettings:
        """The same for a model that reads texts of any length: whole instead of in windows."""
        return replace(self, long="cut", stride=0, max_tokens=MOST_TOKENS) if self.long == "windows" else self
