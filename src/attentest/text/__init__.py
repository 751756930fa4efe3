"""Text to numbers: tokens, vocabulary, vectors, length-bucketed batches."""

from typing import TYPE_CHECKING

from attentest.lazy import lazy_names

if TYPE_CHECKING:
    from attentest.text.batches import Batch
    from attentest.text.prepare import TokenizedCorpus, tokenize_corpus
    from attentest.text.settings import TextSettings
    from attentest.text.vocabulary import Vocabulary

__all__ = ["Batch", "TextSettings", "TokenizedCorpus", "Vocabulary", "tokenize_corpus"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "batches": ["Batch"],
        "prepare": ["TokenizedCorpus", "tokenize_corpus"],
        "settings": ["TextSettings"],
        "vocabulary": ["Vocabulary"],
    },
)
