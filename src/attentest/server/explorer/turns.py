"""A network that is looked into by hooks allows one computation at a time: every call waits for its turn.

The turn is given back between calls, so that a long computation (a thousand samples of LIME, say) does not keep a short
one waiting to its end.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from torch import nn


class InTurns:
    """A model, each method of which runs in its turn; `give_way` is called before, and may wait."""

    def __init__(
        self, model: Any, turn: AbstractContextManager[Any], give_way: Callable[[], None] = lambda: None
    ) -> None:
        self._model, self._turn, self._give_way = model, turn, give_way

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._model, name)
        if not callable(found) or isinstance(found, nn.Module):
            return found

        def in_turn(*given: Any, **named: Any) -> Any:
            self._give_way()
            with self._turn:
                answer = found(*given, **named)
            if name == "at_site":  # the same network, seen from a layer
                return InTurns(answer[0], self._turn, self._give_way), answer[1]
            return answer

        return in_turn
