"""Batches: every row once, little padding, and never more than was allowed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attentest.corpora import build_corpus
from attentest.errors import InputError
from attentest.text import TextSettings, TokenizedCorpus, tokenize_corpus
from attentest.text.batches import (
    Batch,
    batch_of_sequences,
    inference_batches,
    make_batch,
    training_batches,
    training_order,
)

LENGTHS = st.lists(st.integers(1, 60), min_size=10, max_size=80)


def corpus_of(lengths: list[int], max_tokens: int = 1_000_000) -> TokenizedCorpus:
    """A text of each length; text i begins with its own number."""
    texts = [" ".join([f"t{i}", *["w"] * (length - 1)]) for i, length in enumerate(lengths)]
    split = ["train", "train", "dev", "test"] + ["train"] * (len(lengths) - 4)
    labels = [i % 2 for i in range(len(lengths))]
    corpus = build_corpus("x", {"text": texts, "label": labels, "split": split})
    return tokenize_corpus(corpus, TextSettings(max_tokens=max_tokens))


def everything(data: TokenizedCorpus) -> np.ndarray:
    return np.arange(len(data.rows))


def padding(batches: list[Batch]) -> float:
    return 1 - sum(int(b.mask.sum()) for b in batches) / sum(b.mask.numel() for b in batches)


def check(data: TokenizedCorpus, batch: Batch) -> None:
    """What a batch says of its rows is what the corpus says."""
    for row, ids, mask in zip(batch.rows, batch.ids, batch.mask, strict=True):
        assert ids[mask].tolist() == data.sequences[row].tolist()
        assert not ids[~mask].any()
    assert batch.labels is not None
    assert batch.labels.tolist() == data.labels[batch.rows].tolist()
    assert batch.ids.dtype == batch.labels.dtype == torch.int64
    assert batch.mask.dtype == torch.bool


@settings(deadline=None)
@given(lengths=LENGTHS, batch_size=st.integers(1, 20))
def test_training_batches_hold_every_row_once(lengths: list[int], batch_size: int) -> None:
    data = corpus_of(lengths)
    batches = list(training_batches(data, everything(data), batch_size, np.random.default_rng(0)))
    assert sorted(np.concatenate([b.rows for b in batches]).tolist()) == list(range(len(lengths)))
    sizes = sorted((len(b) for b in batches), reverse=True)
    full, rest = divmod(len(lengths), batch_size)
    assert sizes == [batch_size] * full + [rest] * (rest > 0)
    for batch in batches:
        check(data, batch)


def test_training_batches_of_some_rows() -> None:
    data = corpus_of(list(range(1, 41)))
    rows = data.of_split("train")[::2]
    batches = list(training_batches(data, rows, 4, np.random.default_rng(0)))
    assert sorted(np.concatenate([b.rows for b in batches]).tolist()) == sorted(rows.tolist())


def test_training_batches_have_little_padding() -> None:
    lengths = np.random.default_rng(0).lognormal(4, 1, 2000).astype(int) + 1
    order = training_order(lengths, 32, np.random.default_rng(0))
    padded = sum(len(places) * lengths[places].max() for places in order)
    assert 1 - lengths.sum() / padded < 0.2
    mixed = np.random.default_rng(0).permutation(2000)
    unsorted = sum(32 * lengths[mixed[i : i + 32]].max() for i in range(0, 2000, 32))
    assert 1 - lengths.sum() / unsorted > 0.6, "which is what sorting saves"


def test_the_generator_decides_the_order() -> None:
    lengths = np.arange(1, 200)

    def order(seed: int) -> list[list[int]]:
        return [places.tolist() for places in training_order(lengths, 8, np.random.default_rng(seed))]

    assert order(1) == order(1)
    assert order(1) != order(2)
    one, two = ({frozenset(places) for places in order(seed)} for seed in (1, 2))
    assert one != two, "other batches, not only another order of the same"
    firsts = [min(lengths[places]) for places in order(1)]
    assert firsts != sorted(firsts), "long and short batches are mixed"


def test_one_generator_gives_another_order_each_epoch() -> None:
    generator = np.random.default_rng(1)
    first, second = ([p.tolist() for p in training_order(np.arange(1, 200), 8, generator)] for _ in range(2))
    assert first != second


@settings(deadline=None)
@given(lengths=LENGTHS, max_padded=st.integers(1, 300))
def test_inference_batches(lengths: list[int], max_padded: int) -> None:
    data = corpus_of(lengths)
    batches = list(inference_batches(data, everything(data), max_padded))
    assert sorted(np.concatenate([b.rows for b in batches]).tolist()) == list(range(len(lengths)))
    longest = [batch.mask.shape[1] for batch in batches]
    assert longest == sorted(longest)
    for batch, following in zip(batches, [*batches[1:], None], strict=True):
        check(data, batch)
        assert batch.ids.numel() <= max_padded or len(batch) == 1
        if following is not None:
            one_more = (len(batch) + 1) * lengths[following.rows[0]]
            assert one_more > max_padded, "a batch is as large as may be"


def test_inference_batches_of_skewed_lengths_have_little_padding() -> None:
    lengths = (np.random.default_rng(0).lognormal(3, 1, 1000).astype(int) + 1).tolist()
    data = corpus_of(lengths)
    assert padding(list(inference_batches(data, everything(data), 2048))) < 0.15


def test_inference_batches_of_no_rows() -> None:
    data = corpus_of([3] * 10)
    assert list(inference_batches(data, np.array([], np.int64))) == []


def test_a_text_of_100_000_tokens() -> None:
    data = corpus_of([5] * 12 + [100_000])
    batches = list(inference_batches(data, everything(data)))
    assert [tuple(b.ids.shape) for b in batches] == [(12, 5), (1, 100_000)]
    assert batches[-1].mask.all()
    trained = list(training_batches(data, everything(data), 4, np.random.default_rng(0)))
    assert max(b.ids.shape[1] for b in trained) == 100_000
    cut = corpus_of([5] * 12 + [100_000], max_tokens=50)
    assert max(b.ids.shape[1] for b in inference_batches(cut, everything(cut))) == 50


def test_batch_of_sequences() -> None:
    batch = batch_of_sequences([np.array([5, 6, 7], np.int32), np.array([8], np.int32)])
    assert batch.ids.tolist() == [[5, 6, 7], [8, 0, 0]]
    assert batch.mask.tolist() == [[True, True, True], [True, False, False]]
    assert batch.rows.tolist() == [0, 1]
    assert batch.labels is None


@pytest.mark.parametrize("preset", [False, True])
def test_batch_moves_with_all_its_parts(preset: bool) -> None:
    data = corpus_of([3] * 10)
    if preset:
        data = data.with_preset(np.full(len(data.sequences.ids), 1 / 3))
    moved = make_batch(data, np.array([1, 2])).to("meta")
    assert len(moved) == 2
    parts = [moved.ids, moved.mask, moved.labels] + ([moved.preset] if preset else [])
    assert all(part is not None and part.device.type == "meta" for part in parts)
    assert (moved.preset is not None) == preset
    assert moved.rows.tolist() == [1, 2]


def test_a_mask_with_a_hole_is_refused_and_told_where() -> None:
    ids = torch.ones(2, 4, dtype=torch.long)
    mask = torch.tensor([[True, True, True, False], [True, False, True, True]])
    message = (
        r"The mask of the batch has a hole: in text 1 it is False at 1 and True at 2; expected all tokens .* first"
    )
    with pytest.raises(InputError, match=message):
        Batch(ids, mask, np.arange(2))
    with pytest.raises(InputError, match="The second_mask of the batch has a hole: in text 1"):
        Batch(ids, torch.ones_like(mask), np.arange(2), second_ids=ids, second_mask=mask)
    whole = Batch(ids, torch.ones_like(mask), np.arange(2))
    with pytest.raises(InputError, match="has a hole"):
        replace(whole, mask=mask)


def test_padding_before_a_text_is_a_hole() -> None:
    mask = torch.tensor([[False, True, True]])
    with pytest.raises(InputError, match="in text 0 it is False at 0 and True at 1"):
        Batch(torch.ones(1, 3, dtype=torch.long), mask, np.arange(1))


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(2, 3), r"is a float32 tensor of shape \(2, 3\), with ids of shape \(2, 3\); expected a bool"),
        (torch.ones(2, 2, dtype=torch.bool), r"is a bool tensor of shape \(2, 2\), with ids of shape \(2, 3\)"),
    ],
)
def test_a_mask_is_a_truth_value_for_each_token(mask: torch.Tensor, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Batch(torch.ones(2, 3, dtype=torch.long), mask, np.arange(2))


def test_a_second_mask_has_second_ids() -> None:
    ids, mask = torch.ones(1, 2, dtype=torch.long), torch.ones(1, 2, dtype=torch.bool)
    with pytest.raises(InputError, match=r"The second_mask .* with no ids; expected"):
        Batch(ids, mask, np.arange(1), second_mask=mask)


def test_empty_texts_and_full_ones_have_no_holes() -> None:
    for mask in (torch.zeros(2, 3, dtype=torch.bool), torch.ones(2, 3, dtype=torch.bool)):
        assert Batch(torch.ones(2, 3, dtype=torch.long), mask, np.arange(2)).mask is mask
