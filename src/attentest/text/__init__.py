"""Text to numbers: tokens, vocabulary, vectors, length-bucketed batches."""

from typing import TYPE_CHECKING

from attentest.lazy import lazy_names

if TYPE_CHECKING:
    from attentest.text.batches import Batch
    from attentest.text.pieces import PieceTokenizer
    from attentest.text.prepare import TokenizedCorpus, tokenize_corpus
    from attentest.text.prepare_pieces import tokenize_pieces
    from attentest.text.settings import TextSettings
    from attentest.text.vocabulary import Vocabulary

__all__ = [
    "Batch",
    "PieceTokenizer",
    "TextSettings",
    "TokenizedCorpus",
    "Vocabulary",
    "tokenize_corpus",
    "tokenize_pieces",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "batches": ["Batch"],
        "pieces": ["PieceTokenizer"],
        "prepare": ["TokenizedCorpus", "tokenize_corpus"],
        "prepare_pieces": ["tokenize_pieces"],
        "settings": ["TextSettings"],
        "vocabulary": ["Vocabulary"],
    },
)
