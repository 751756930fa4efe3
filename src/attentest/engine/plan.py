"""A plan: steps that stand on one another, each named by what goes into it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from attentest.engine.code_version import code_version


@dataclass(frozen=True)
class Step:
    """A pure function of its settings and inputs; `key` is a hash of those and of the code that is called."""

    name: str  # for people
    work: str  # module:function, called as function(settings, inputs, out, listener)
    settings: Mapping[str, Any]
    inputs: Mapping[str, str]  # what it is to this step -> key of the step that gives it
    key: str
    seconds: float = 0.0  # an estimate, on a core like those that the defaults were measured on

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass
class Plan:
    steps: dict[str, Step] = field(default_factory=dict)  # by key, in an order in which they can be done

    def add(
        self,
        name: str,
        work: str,
        settings: Mapping[str, Any],
        inputs: Mapping[str, Step] | None = None,
        *,
        modules: tuple[str, ...] = (),
        places: Mapping[str, Any] | None = None,
        seconds: float = 0.0,
    ) -> Step:
        """A step, or the one there is if the same was planned before.

        `modules` are called beside the work's own; `places` are settings that say where something is, not what.
        """
        keys = {role: step.key for role, step in (inputs or {}).items()}
        code = code_version(work.partition(":")[0], *modules)
        content = {"work": work, "settings": settings, "inputs": keys, "code": code}
        key = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]
        return self.steps.setdefault(key, Step(name, work, {**settings, **(places or {})}, keys, key, seconds))

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps.values())

    def __len__(self) -> int:
        return len(self.steps)

    def needed(self, targets: list[str], done: set[str]) -> list[Step]:
        """The steps to do so that all targets are done, in order; what only done steps stand on is left out."""
        wanted, waiting = set(), [key for key in targets if key not in done]
        while waiting:
            key = waiting.pop()
            if key not in wanted:
                wanted.add(key)
                waiting += [other for other in self.steps[key].inputs.values() if other not in done]
        return [step for step in self if step.key in wanted]
