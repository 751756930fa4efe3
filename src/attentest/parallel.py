"""Independent pieces of work on all of torch's threads at once, one thread each: for calls too small to be shared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

Piece = TypeVar("Piece")
Result = TypeVar("Result")


def over_cores(work: Callable[[Piece], Result], pieces: Iterable[Piece]) -> list[Result]:
    """`work` on every piece, in order; torch and numpy let go of Python's lock inside their calls."""
    given = list(pieces)
    threads = min(torch.get_num_threads(), len(given))
    if threads <= 1:
        return [work(piece) for piece in given]
    gradients, inference = torch.is_grad_enabled(), torch.is_inference_mode_enabled()
    usual = torch.get_num_threads()

    def alone(piece: Piece) -> Result:
        torch.set_num_threads(1)
        with torch.inference_mode(inference), torch.set_grad_enabled(gradients):  # modes belong to a thread
            return work(piece)

    try:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(alone, given))
    finally:
        torch.set_num_threads(usual)
