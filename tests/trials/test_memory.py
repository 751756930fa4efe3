"""Texts that are read at a time: bounded by the memory that is given, and halved where it does not suffice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from attentest.errors import InputError
from attentest.memory import out_of_memory, size_of
from attentest.text.batches import Batch
from attentest.training.run import Run
from attentest.trials import make_trial, subject_of
from attentest.trials.hold import hold


@pytest.mark.parametrize(("written", "size"), [("500MB", 500_000_000), ("2GB", 2_000_000_000), ("1.5 k", 1_500)])
def test_sizes_are_read(written: str, size: int) -> None:
    assert size_of(written) == size


@pytest.mark.parametrize("written", ["", "much", "-1GB", "0", "0.0001", "2XB", "1e9"])
def test_what_is_no_size_is_refused(written: str) -> None:
    with pytest.raises(InputError, match="is not a size; write it as 500MB or 2GB"):
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


def test_other_errors_are_not_taken_for_a_lack_of_memory() -> None:
    assert out_of_memory(MemoryError())
    assert not out_of_memory(RuntimeError("shapes do not fit"))


def test_memory_bounds_the_texts_of_a_model_that_knows_its_size(run: Run) -> None:
    class Sized(Small):
        def bytes_of_a_token(self, longest: int) -> int:
            return 1000

    subject = subject_of(run)
    sized = replace(subject, model=Sized(subject.model, 10**9), memory=200_000)
    longest = int(subject.lengths.max())
    assert sized.tokens_at_once == max(longest, 200)
    assert replace(sized, memory=1).tokens_at_once == longest
    assert replace(sized, memory=None).tokens_at_once == subject.tokens_at_once
    assert np.isfinite(sized.tokens_at_once)
