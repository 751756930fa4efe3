"""inseq's attention and gradients, on the same network and texts in the same process, where it is installed.

inseq explains the next token of a language model. A classifier whose classes are the words of the vocabulary, and whose
head is that of the language model, is the same function, so both give one score for each token of a text:

- attention: the weights of the last token, of every layer and head (inseq needs the network in eager mode);
- gradients: |∂ probability of the predicted word / ∂ embedding|.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from statistics import median
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attentest.importance.gradients import input_gradients
from attentest.models.pretrained.layout import Layout
from attentest.models.pretrained.model import Pretrained
from attentest.models.pretrained.replaced import look
from attentest.text.batches import Batch
from attentest.text.pieces import Frame
from benchmarks.row import Row
from benchmarks.scene import REPEATS, with_threads

TEXTS, TOKENS, WORDS = 8, 45, 2000
SIZE = {"n_embd": 384, "n_layer": 6, "n_head": 12, "n_positions": 64}


@dataclass(frozen=True)
class Pair:
    """One network as a classifier for us and as a language model for inseq, and the texts as ids and as words."""

    model: Pretrained
    language_model: Any
    tokenizer: Any
    batch: Batch
    texts: list[str]
    continued: list[str]  # with the word that the network predicts


@cache
def pair() -> Pair:
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[PAD]", "[UNK]", *(f"w{number}" for number in range(2, WORDS))]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    named = {"pad_token": "[PAD]", "unk_token": "[UNK]", "bos_token": "[UNK]", "eos_token": "[UNK]"}
    tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=made, **named)
    torch.manual_seed(0)
    ends = {"bos_token_id": 1, "eos_token_id": 1, "pad_token_id": 0}
    config = transformers.GPT2Config(vocab_size=WORDS, num_labels=WORDS, **SIZE, **ends)
    language_model = transformers.GPT2LMHeadModel(config).eval()
    classifier = transformers.GPT2ForSequenceClassification(config).eval()
    classifier.transformer, classifier.score = language_model.transformer, language_model.lm_head
    ids = torch.randint(2, WORDS, (TEXTS, TOKENS))
    batch = Batch(ids, torch.ones_like(ids, dtype=torch.bool), np.arange(TEXTS))
    nothing = Frame((), (), (), (0,))
    layout = Layout(single=nothing, pair=nothing, pad=0, longest=TOKENS)
    model = Pretrained(classifier, layout, range(WORDS)).eval()
    texts = [" ".join(words[number] for number in row) for row in ids.tolist()]
    with torch.no_grad():
        predicted = classifier(input_ids=ids).logits.argmax(-1).tolist()
    continued = [f"{text} {words[number]}" for text, number in zip(texts, predicted, strict=True)]
    return Pair(model, language_model, tokenizer, batch, texts, continued)


def attention() -> list[Row]:
    return _compared("attention", "weights of the last token in 6 layers of 12 heads", _our_attention)


def gradients() -> list[Row]:
    return _compared("saliency", "gradients by the embeddings", _our_gradients)


def _our_attention(at: Pair) -> list[Tensor]:
    """Tokens × layers × heads."""
    arguments = at.model.layout.lay_out(at.batch).arguments
    with torch.inference_mode():
        seen = look(at.model.network, arguments, at.model.sites)
    return list(torch.stack([seen[site].weights[:, :, -1].transpose(1, 2) for site in at.model.sites], 2))


def _our_gradients(at: Pair) -> list[Tensor]:
    """Tokens × size of the embedding."""
    return list(input_gradients(at.model, at.batch).gradient.abs())


def _compared(method: str, what: str, ours: Callable[[Pair], list[Tensor]]) -> list[Row]:
    if importlib.util.find_spec("inseq") is None:
        print(f"inseq-{method}: inseq is not installed, so there is nothing to compare with (pip install inseq==0.7.1)")
        return []
    import inseq

    at = pair()
    at.language_model.set_attn_implementation("eager")
    theirs = inseq.load_model(at.language_model, method, tokenizer=at.tokenizer, device="cpu")

    def twin() -> list[Tensor]:
        found = theirs.attribute(at.texts, at.continued, show_progress=False)
        return [each.target_attributions[:TOKENS, -1] for each in found.sequence_attributions]

    apart = max(float((a - b).abs().max() / b.abs().max()) for a, b in zip(ours(at), twin(), strict=True))
    at.language_model.set_attn_implementation("sdpa")
    turns = []
    for _ in range(REPEATS):
        mine = _taken(lambda: ours(at))
        at.language_model.set_attn_implementation("eager")  # inseq fails on the default
        turns.append((mine, _taken(twin)))
        at.language_model.set_attn_implementation("sdpa")
    mine, other = (median(taken) for taken in zip(*turns, strict=True))
    said = (
        f"{what}, of {TEXTS} texts of {TOKENS} tokens, against inseq {version('inseq')}; largest difference "
        f"{apart:.0e} of the largest score"
    )
    return [Row(f"inseq-{method}", said, mine, other, other / mine, None)]


def _taken(work: Callable[[], object]) -> float:
    return with_threads(1, work, time.process_time)
