"""Tokenizers of the kinds that pretrained models have, made of ten sentences."""

from __future__ import annotations

from functools import cache

import pytest

from attentest.text.pieces import PieceTokenizer

tokenizers = pytest.importorskip("tokenizers")

SENTENCES = (
    "The film is wonderful, and I'd watch it again.",
    "A dull, unwatchable film without a story.",
    "She acts wonderfully; he does not.",
    "Nobody would watch this again.",
    "What a wonder: an unforgettable evening!",
    "The story is forgettable and the acting is dull.",
    "I watched it twice, and twice it was dull.",
    "An evening without a film is not wonderful.",
    "Watching paint dry is a story, too.",
    "Unforgettable acting, wonderful film.",
)
BERT_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = ["the", "film", "is", "un", "##watch", "##able", "wonder", "##ful", "story", "dull"]
ROBERTA_SPECIAL = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"]


@cache
def word_pieces() -> PieceTokenizer:
    """As BERT has them; the file asks for padding and a cut at 4 tokens, which is not attentest's business."""
    letters = [chr(letter) for letter in range(ord("a"), ord("z") + 1)]
    pieces = [*BERT_SPECIAL, *WORDS, *".,;:'!", *letters, *(f"##{letter}" for letter in letters)]
    made = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
    )
    made.normalizer = tokenizers.normalizers.BertNormalizer(lowercase=True)
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    made.post_processor = tokenizers.processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    made.enable_truncation(4)
    made.enable_padding()
    return PieceTokenizer(made.to_str())


@cache
def byte_pieces(size: int = 300) -> PieceTokenizer:
    """As RoBERTa has them."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE())
    made.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=ROBERTA_SPECIAL,
        show_progress=False,
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
    )
    made.train_from_iterator(SENTENCES, trainer)
    made.post_processor = tokenizers.processors.RobertaProcessing(("</s>", 2), ("<s>", 0), trim_offsets=False)
    return PieceTokenizer(made.to_str())


@cache
def whole_text_pieces() -> PieceTokenizer:
    """As Llama 2 has them: no text is split into words first, and nothing but <s> is put before it."""
    made = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>", fuse_unk=True))
    made.normalizer = tokenizers.normalizers.Sequence(
        [tokenizers.normalizers.Prepend("▁"), tokenizers.normalizers.Replace(" ", "▁")]
    )
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=60, special_tokens=["<unk>", "<s>"], max_token_length=4, show_progress=False
    )
    made.train_from_iterator(SENTENCES, trainer)
    made.post_processor = tokenizers.processors.TemplateProcessing("<s> $A", "<s> $A <s> $B", [("<s>", 1)])
    return PieceTokenizer(made.to_str())
