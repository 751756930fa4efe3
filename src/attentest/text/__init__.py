"""Text to numbers: tokens, vocabulary, vectors, length-bucketed batches."""

from attentest.text.batches import Batch
from attentest.text.prepare import TokenizedCorpus, tokenize_corpus
from attentest.text.settings import TextSettings
from attentest.text.vocabulary import Vocabulary

__all__ = ["Batch", "TextSettings", "TokenizedCorpus", "Vocabulary", "tokenize_corpus"]
