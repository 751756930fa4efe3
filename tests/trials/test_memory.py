"""Texts that are read at a time: bounded by the memory that is given, and halved where it does not suffice."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_encoders import OTHERS, marked_corpus, save_classifier
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

import attentest
from attentest.errors import InputError
from attentest.memory import most_bytes, out_of_memory, size_of
from attentest.models.pretrained.sinks import Sinks
from attentest.models.pretrained.view import View
from attentest.models.protocol import Costs
from attentest.text.batches import Batch
from attentest.text.prepare import TokenizedCorpus
from attentest.training import take
from attentest.training.predict import Predictions, predict
from attentest.training.run import Run
from attentest.training.take import take_pretrained
from attentest.trials import Finding, make_trial, subject_of
from attentest.trials.base import works_of
from attentest.trials.hold import hold
from attentest.trials.work import Work, bytes_of_a_position, costs_of, tokens_at_once


@pytest.mark.parametrize(("written", "size"), [("500MB", 500_000_000), ("2GB", 2_000_000_000), ("1.5 k", 1_500)])
def test_sizes_are_read(written: str, size: int) -> None:
    assert size_of(written) == size


@pytest.mark.parametrize("written", ["", "much", "-1GB", "0", "0.0001", "2XB", "1e9"])
def test_what_is_no_size_is_refused(written: str) -> None:
    with pytest.raises(InputError, match=f"^The memory '{written}' is not a size; write it as 500MB or 2GB"):
        size_of(written)


class Small:
    """Has memory for so many tokens."""

    def __init__(self, model: Any, tokens: int) -> None:
        self.model, self.tokens, self.batches = model, tokens, list[int]()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.model, name)

    def encode(self, batch: Batch) -> Any:
        if batch.ids.numel() > self.tokens:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.batches.append(len(batch))
        return self.model.encode(batch)


def test_where_memory_does_not_suffice_fewer_texts_are_read_at_a_time(run: Run) -> None:
    subject = replace(subject_of(run), folder=None)
    usual = hold([make_trial("uniform")], subject)[0]
    longest = int(subject.lengths.max())
    small = Small(subject.model, 2 * longest)
    found = hold([make_trial("uniform")], replace(subject, model=small))[0]
    assert found.table["id"].equals(usual.table["id"])
    for name in (
        "tvd_uniform",
        "tvd_random",
        "tvd_permuted",
        "max_attention",
    ):  # padded otherwise, so rounded otherwise
        assert np.allclose(found.table[name].to_numpy(), usual.table[name].to_numpy(), atol=1e-5)
    assert len(small.batches) > 1
    with pytest.raises(torch.OutOfMemoryError):
        hold([make_trial("uniform")], replace(subject, model=Small(subject.model, longest // 2)))


def test_a_limit_may_be_a_number() -> None:
    assert (most_bytes(None), most_bytes("2GB"), most_bytes(1500)) == (None, 2_000_000_000, 1500)
    with pytest.raises(InputError, match="is not a size"):
        most_bytes(0)


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    assert out_of_memory(MemoryError())
    assert out_of_memory(RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"))
    assert out_of_memory(RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 8 bytes."))
    assert not out_of_memory(RuntimeError("shapes do not fit"))


def test_memory_bounds_the_texts_of_a_model_that_knows_its_size(run: Run) -> None:
    class Sized(Small):
        def costs(self, length: int, site: str | None = None) -> Costs:
            return Costs(token=1000, graph=2000, layered=600, variant=100, searched=300)

    subject = subject_of(run)
    sized = replace(subject, model=Sized(subject.model, 10**9), memory=200_000)
    longest = int(subject.lengths.max())
    assert tokens_at_once(sized, {}) == max(longest, 200)
    assert tokens_at_once(sized, {"gradients": Work(held="graph")}) == max(longest, 100)
    assert tokens_at_once(sized, {"layers": Work(held="layered")}) == max(longest, 125)
    searched = {"search": Work(searched=10 * longest)}  # as much again for each token as 10 variants take: 3000
    assert tokens_at_once(sized, searched) == max(longest, 200_000 // 4000)
    assert tokens_at_once(replace(sized, memory=1), {}) == longest
    assert tokens_at_once(replace(sized, memory=None), {}) == tokens_at_once(subject, {})


@contextmanager
def limited(model: Any, positions: int) -> Iterator[list[int]]:
    """Within, the network runs out of memory where it gets more positions than these; how many, each time."""
    refused: list[int] = []

    def check(_network: Any, _inputs: Any, options: dict[str, Any]) -> None:
        if options["input_ids"].numel() > positions:
            refused.append(options["input_ids"].numel())
            raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: not enough memory: you tried")

    handle = model.network.register_forward_pre_hook(check, with_kwargs=True)
    try:
        yield refused
    finally:
        handle.remove()


FEW: dict[str, dict[str, Any]] = {"permutation": {"permutations": 20}, "adversary": {"steps": 5, "k": 2}}
# rounded otherwise in other batches; a search follows its slopes, and the order of close scores may turn
EXACT = {"erasure": ["comprehensiveness, random"], "adversary": ["max_attention"], "correlation": ["max_attention"]}


@pytest.mark.parametrize("name", ["erasure", "permutation", "removal", "importance-sets", "layers", "swaps"])
def test_work_on_an_encoder_is_halved_until_it_fits(name: str, encoder_run: attentest.Run) -> None:
    subject = replace(subject_of(encoder_run, texts=6), folder=None)
    trial = make_trial(name, **FEW.get(name, {}))
    usual = hold([trial], subject)[0]
    longest = int(subject.lengths.max()) + 3
    with limited(subject.model, 2 * longest) as refused:
        found = hold([trial], subject)[0]
        assert refused
    same(found, usual, EXACT.get(name))
    with limited(subject.model, longest // 2), pytest.raises(RuntimeError, match="not enough memory"):
        hold([trial], subject)


def test_what_was_put_down_is_not_asked_again(encoder_run: attentest.Run) -> None:
    """Information keeps states: trials that can be asked again come before it, whatever their order."""
    subject = replace(subject_of(encoder_run, texts=6), folder=None)
    trials = [make_trial("information", runs=2, clusters=2), make_trial("erasure")]
    usual = hold(trials, subject)
    with limited(subject.model, 2 * (int(subject.lengths.max()) + 3)) as refused:
        found = hold(trials, subject)
        assert refused
    assert [finding.trial for finding in found] == ["information", "erasure"]
    assert found[0].summary["ranks"] == usual[0].summary["ranks"]
    same(found[1], usual[1], EXACT["erasure"])


def same(found: Finding, usual: Finding, names: list[str] | None = None) -> None:
    assert found.table["id"].equals(usual.table["id"])
    for name in names or found.table.column_names:
        values = usual.table[name].to_numpy(zero_copy_only=False)
        if values.dtype.kind == "f":
            assert np.allclose(found.table[name].to_numpy(), values, atol=1e-5, equal_nan=True), name


class Peak(TorchDispatchMode):
    """The most bytes that tensors other than the model's own had at a time."""

    def __init__(self, model: torch.nn.Module) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.known = {value.untyped_storage().data_ptr() for value in (*model.parameters(), *model.buffers())}
        self.live: dict[int, int] = {}
        self.now = self.peak = 0

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = function(*args, **(kwargs or {}))
        for value in tree_leaves(out):
            if isinstance(value, torch.Tensor):
                storage = value.untyped_storage()
                key = storage._cdata
                if storage.data_ptr() not in self.known and key not in self.live:
                    self.live[key] = storage.nbytes()
                    self.now += storage.nbytes()
                    self.peak = max(self.peak, self.now)
                    weakref.finalize(storage, self.gone, key)
        return out

    def gone(self, key: int) -> None:
        self.now -= self.live.pop(key)


@pytest.fixture(scope="module", params=["bert", "deberta-v2", "llama"])
def wide_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Wide enough for states to be most of what is in memory, on texts of different lengths."""
    size: dict[str, Any] = {
        "hidden_size": 48,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
        "intermediate_size": 192,
    }
    further: dict[str, dict[str, Any]] = {
        "bert": {},
        "deberta-v2": {"pos_att_type": ["c2p", "p2c"], "relative_attention": True, "max_relative_positions": 8},
        "llama": {"num_key_value_heads": 2},
    }
    place = tmp_path_factory.mktemp("wide")
    theirs = save_classifier(place / "theirs", request.param, **size, **further[request.param])
    return take_pretrained(marked_corpus(20), theirs, place / "run")


@pytest.mark.parametrize("name", ["permutation", "adversary", "correlation", "erasure", "swaps", "layers"])
def test_tensors_stay_within_the_memory(name: str, wide_run: Run) -> None:
    subject = replace(subject_of(wide_run), folder=None)
    trial = make_trial(name, **FEW.get(name, {}))
    works, longest = works_of([trial], subject), int(subject.lengths.max())
    costs = costs_of(subject, longest)
    memory = 4 * (longest + costs.added) * bytes_of_a_position(works, costs, longest)
    model: Any = subject.model
    with Peak(model) as watched:
        hold([trial], replace(subject, memory=memory))
    assert watched.peak <= memory


@pytest.mark.parametrize("name", ["permutation", "erasure"])
def test_tokens_set_aside_are_in_memory_too(name: str, wide_run: Run) -> None:
    """Most tokens of these texts are set aside, and the network reads all of them."""
    aside = Sinks(tuple(wide_run.vocabulary.ids(list(OTHERS)).tolist()))
    subject = replace(subject_of(wide_run.seen(View(sinks=aside))), folder=None)
    longest, items = int(subject.read_lengths.max()), int(subject.lengths.max())
    assert longest == int(subject_of(wide_run).lengths.max()) > 2 * items
    trial = make_trial(name, **FEW.get(name, {}))
    works, costs = works_of([trial], subject), costs_of(subject, longest)
    assert tokens_at_once(replace(subject, memory=1), works) == longest + costs.added
    memory = 4 * (longest + costs.added) * bytes_of_a_position(works, costs, longest)
    model: Any = subject.model
    with Peak(model) as watched:
        hold([trial], replace(subject, memory=memory))
    assert watched.peak <= memory


@pytest.mark.parametrize("longest", [2, 0.5])
def test_predictions_of_a_model_from_elsewhere_are_halved_until_they_fit(
    longest: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = save_classifier(tmp_path / "theirs")
    usual = take_pretrained(marked_corpus(20), theirs, tmp_path / "usual")
    read: list[int] = []

    def small(model: Any, data: TokenizedCorpus, rows: np.ndarray, device: Any, max_padded: int) -> Predictions:
        read.append(max_padded)
        with limited(model, int(longest * (data.sequences.lengths[rows].max() + 3))):
            return predict(model, data, rows, device, max_padded=max_padded)

    monkeypatch.setattr(take, "predict", small)
    if longest < 1:
        with pytest.raises(RuntimeError, match="not enough memory"):
            take_pretrained(marked_corpus(20), theirs, tmp_path / "small")
        assert read[-1] == min(read)
        return
    found = take_pretrained(marked_corpus(20), theirs, tmp_path / "small")
    assert len(read) > 1
    for one, other in zip(found.predictions["probability"], usual.predictions["probability"], strict=True):
        assert np.allclose(one.as_py(), other.as_py(), atol=1e-5)
