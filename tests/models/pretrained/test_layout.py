"""Batches of a text's own pieces, laid out as the tokenizer of the model would have done it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest
import torch
from tiny_tokenizers import SENTENCES, byte_pieces, whole_text_pieces, word_pieces

from attentest.corpora import build_corpus
from attentest.models.pretrained.layout import Layout, Side
from attentest.text.batches import Batch, make_batch
from attentest.text.pieces import PieceTokenizer
from attentest.text.prepare_pieces import tokenize_pieces

transformers = pytest.importorskip("transformers", minversion="5")

KINDS = pytest.mark.parametrize(
    ("make", "pad"), [(word_pieces, "[PAD]"), (byte_pieces, "<pad>"), (whole_text_pieces, "<unk>")]
)
SIDES = pytest.mark.parametrize("side", ["left", "right"])
VIEWS = pytest.mark.parametrize("special", [False, True])
SECONDS = tuple(reversed(SENTENCES))


def layout_of(tokenizer: PieceTokenizer, pad: str, side: Side, special: bool = False) -> Layout:
    number = int(tokenizer.vocabulary.ids([pad])[0])
    frames = tokenizer.frame(pair=False), tokenizer.frame(pair=True)
    return Layout(*frames, pad=number, longest=512, side=side, typed=True, special=special)


def batch_of(tokenizer: PieceTokenizer, pair: bool, special: bool = False) -> Batch:
    columns: dict[str, Any] = {"text": list(SENTENCES), "label": [0, 1] * 5}
    more = {"second": list(SECONDS)} if pair else {}
    corpus = build_corpus("x", columns | more, kind="pair" if pair else "single")
    return make_batch(tokenize_pieces(corpus, tokenizer, max_tokens=500, special=special), np.arange(10))


@KINDS
@SIDES
@VIEWS
@pytest.mark.parametrize("pair", [False, True])
def test_a_batch_is_laid_out_as_the_models_tokenizer_does_it(
    make: Callable[[], PieceTokenizer], pad: str, side: Side, special: bool, pair: bool
) -> None:
    tokenizer = make()
    theirs = transformers.PreTrainedTokenizerFast(
        tokenizer_object=PieceTokenizer(tokenizer.definition).backend,
        pad_token=pad,
        padding_side=side,
        model_max_length=512,
    )
    texts = [list(SENTENCES), list(SECONDS)] if pair else [list(SENTENCES)]
    expected = theirs(*texts, padding=True, return_tensors="pt", return_token_type_ids=True)
    batch = batch_of(tokenizer, pair, special)
    inputs = layout_of(tokenizer, pad, side, special).lay_out(batch)
    assert torch.equal(inputs.input_ids, expected["input_ids"])
    assert torch.equal(inputs.attention_mask, expected["attention_mask"])
    assert inputs.token_type_ids is not None
    assert torch.equal(inputs.token_type_ids, expected["token_type_ids"])
    assert torch.equal(inputs.input_ids.gather(1, inputs.places)[batch.mask], batch.ids[batch.mask])
    frame = tokenizer.frame(pair=pair)
    assert (inputs.special.sum(1) == frame.size).all()
    assert set(inputs.input_ids[inputs.special].tolist()) == set(frame.ids)


@SIDES
def test_a_text_that_lost_all_its_pieces_still_has_its_special_tokens(side: Side) -> None:
    tokenizer = word_pieces()
    batch = batch_of(tokenizer, pair=True)
    assert batch.sentences is not None
    gone = torch.zeros_like(batch.mask)
    inputs = layout_of(tokenizer, "[PAD]", side).lay_out(replace(batch, mask=gone))
    assert inputs.input_ids.tolist() == [[2, 3, 3]] * 10
    first_gone = replace(batch, ids=batch.ids[:, :2], mask=batch.mask[:, :2], sentences=torch.ones(10, 2))
    inputs = layout_of(tokenizer, "[PAD]", side).lay_out(first_gone)
    assert inputs.input_ids[:, [0, 1, 4]].tolist() == [[2, 3, 3]] * 10


def test_only_networks_that_take_token_types_get_them() -> None:
    layout = replace(layout_of(word_pieces(), "[PAD]", "right"), typed=False)
    inputs = layout.lay_out(batch_of(word_pieces(), pair=False))
    assert set(inputs.arguments) == {"input_ids", "attention_mask"}
    assert set(replace(layout, typed=True).lay_out(batch_of(word_pieces(), pair=False)).arguments) == {
        "input_ids",
        "attention_mask",
        "token_type_ids",
    }


def test_room_is_what_special_tokens_leave() -> None:
    layout = layout_of(byte_pieces(), "<pad>", "right")
    assert (layout.room("single"), layout.room("pair")) == (510, 508)


def test_a_layout_can_be_written_as_json() -> None:
    layout = layout_of(word_pieces(), "[PAD]", "left")
    assert json.loads(json.dumps(asdict(layout)))["pair"]["types"] == [0, 0, 0, 1, 1]
