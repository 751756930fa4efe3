"""How text becomes numbers: every choice, in one place."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from attentest.errors import InputError, unknown_name

TOKENIZERS = {
    "word": "words, numbers and single punctuation marks; n't and 's apart, as GloVe has them",
    "whitespace": "what stands between blanks, for text that is tokenised already",
}


@dataclass(frozen=True)
class TextSettings:
    tokenizer: str = "word"
    lower: bool = True
    digits: Literal["keep", "qqq"] = "keep"  # qqq: JW write every token with a digit as qqq
    min_frequency: int = 1  # rarer training tokens become <unk>
    min_tokens: int = 1  # shorter texts are dropped
    max_tokens: int = 1000  # longer texts are …
    long: Literal["cut", "drop"] = "cut"  # … cut to it, or dropped
    vectors: str = "random"  # random, glove-6b-50d, or the path of a GloVe or word2vec text file
    dimension: int = 300  # of random vectors; files bring their own

    def __post_init__(self) -> None:
        if self.tokenizer not in TOKENIZERS:
            raise unknown_name("tokenizer", self.tokenizer, TOKENIZERS)
        if self.digits not in ("keep", "qqq"):
            raise unknown_name("digits rule", self.digits, ("keep", "qqq"))
        if self.long not in ("cut", "drop"):
            raise unknown_name("rule for long texts", self.long, ("cut", "drop"))
        for name in ("min_frequency", "min_tokens", "max_tokens", "dimension"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.max_tokens < self.min_tokens:
            raise InputError(f"max_tokens {self.max_tokens} is less than min_tokens {self.min_tokens}.")
