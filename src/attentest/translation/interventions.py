"""Weights that stand in for a translation model's own, at every step and site.

A step of decoding is a query. Random numbers are keyed by text, site, head, query and key, so that neither batches nor
caches change anything: a step gets the same weights alone as it gets among all steps of a forced decoding.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from attentest.chance import keyed_rows
from attentest.errors import InputError, unknown_name
from attentest.layer_interventions import DROPPED, PERMUTED, RANDOM, UNIFORM, Allowed, Rows, replaced_rows
from attentest.models.protocol import Change
from attentest.translation.settings import KINDS

GIVEN = "given"
assert KINDS == (UNIFORM, RANDOM, PERMUTED, DROPPED, GIVEN)  # settings import nothing that takes time
MOST_QUERIES = 1 << 20  # of a text, so that text and query are one number
ROUNDING = 1e-3  # of a given row of weights, which sums to 1 in float32

Steps = Callable[[int], Change]
"""From the number of a first query: the change of it and of those that follow. A `Change` is called at each site as it
is reached."""
Given = Mapping[str, Float[Tensor, "heads queries keys"]]  # of one text, by site


def unchanged(first: int) -> Change:
    return lambda site, weights, allowed: None


@dataclass(frozen=True)
class Intervention:
    """What takes the place of the weights of these sites [all] and of this head [all]."""

    kind: str
    sites: Collection[str] | None = None
    head: int | None = None
    seed: int = 0
    given: Mapping[int, Given] = field(default_factory=dict)  # for the kind `given`, by the number of the text

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise unknown_name("kind of weights", self.kind, KINDS)
        if (self.kind == GIVEN) != bool(self.given):
            raise InputError("The weights 'given' and `given`, the file or the weights themselves, go together.")

    def steps(self, texts: Int[np.ndarray, "batch"]) -> Steps:
        """For a batch of the texts with these numbers."""

        def at(first: int) -> Change:
            def change(site: str, weights: Rows, allowed: Allowed) -> Rows | None:
                if self.sites is not None and site not in self.sites:
                    return None
                new = self._new(site, weights, allowed, texts, first)
                if self.head is None:
                    return new
                if self.head >= weights.shape[1]:
                    return None
                kept = weights.clone()
                kept[:, self.head] = new[:, self.head]
                return kept

            return change

        return at

    def _new(self, site: str, weights: Rows, allowed: Allowed, texts: Int[np.ndarray, "batch"], first: int) -> Rows:
        if self.kind == GIVEN:
            return self._given(site, weights, allowed.expand_as(weights), texts, first)

        def drawn() -> Rows:
            batch, heads, queries, keys = weights.shape
            pairs = texts.astype(np.uint64)[:, None] * np.uint64(MOST_QUERIES) + np.arange(
                first, first + queries, dtype=np.uint64
            )
            numbers = 1 - keyed_rows(self.seed, f"{self.kind} weights, {site}", pairs.ravel(), (heads, keys))
            found = torch.from_numpy(numbers).view(batch, queries, heads, keys)
            return found.transpose(1, 2).to(weights.device)

        return replaced_rows(self.kind, weights, allowed, drawn)

    def _given(self, site: str, weights: Rows, allowed: Allowed, texts: Int[np.ndarray, "batch"], first: int) -> Rows:
        """Queries for which no weights are given keep their own. Rows may be longer than what a step can see, as those
        of all steps of a decoder are, if nothing of them lies beyond it."""
        new = weights.clone()
        for place, text in enumerate(texts.tolist()):
            rows = self.given.get(text, {}).get(site)
            if rows is None:
                continue
            rows = rows[:, first : first + weights.shape[2]].to(weights)
            if rows.shape[0] != weights.shape[1]:
                raise InputError(
                    f"The given weights of text {text + 1} at {site} have {rows.shape[0]} heads; the model has "
                    f"{weights.shape[1]} there."
                )
            queries, keys = rows.shape[1], min(rows.shape[2], weights.shape[3])
            seen = allowed[place, :, :queries, :keys]
            beyond = rows[..., keys:].sum(-1) + (rows[..., :keys] * ~seen).sum(-1)
            if bool((beyond > ROUNDING).any()):
                raise InputError(
                    f"The given weights of text {text + 1} at {site} lie on tokens that are not there: a step there "
                    f"sees at most {int(allowed[place].sum(-1).max())}."
                )
            new[place, :, :queries] = 0
            new[place, :, :queries, :keys] = rows[..., :keys] * seen
        return new


def chosen_sites(names: Sequence[str], sites: Sequence[str]) -> tuple[str, ...]:
    """The sites that these names stand for: `across` is every across.0, across.1…"""
    found: list[str] = []
    for name in names:
        fitting = [site for site in sites if site == name or site.partition(".")[0] == name]
        if not fitting:
            raise unknown_name("site", name, {*sites, *(site.partition(".")[0] for site in sites)})
        found += fitting
    return tuple(dict.fromkeys(found))


def one_after_other(*all_steps: Steps) -> Steps:
    """Each changes what the one before it gave."""

    def at(first: int) -> Change:
        changes = [steps(first) for steps in all_steps]

        def change(site: str, weights: Rows, allowed: Allowed) -> Rows | None:
            new: Rows | None = None
            for one in changes:
                given = one(site, weights if new is None else new, allowed)
                new = new if given is None else given
            return new

        return change

    return at


class Recorder:
    """Steps that leave what others give and keep it: the weights of each site, query by query."""

    def __init__(self, steps: Steps) -> None:
        self._steps = steps
        self._seen: dict[str, dict[int, Rows]] = {}

    def __call__(self, first: int) -> Change:
        change = self._steps(first)

        def record(site: str, weights: Rows, allowed: Allowed) -> Rows | None:
            new = change(site, weights, allowed)
            self._seen.setdefault(site, {})[first] = (weights if new is None else new).detach()
            return new

        return record

    def weights(self) -> dict[str, Rows]:
        """By site, queries one after the other; keys that a query did not know yet have the weight 0."""
        found = {}
        for site, seen in self._seen.items():
            keys = max(rows.shape[-1] for rows in seen.values())
            padded = [torch.nn.functional.pad(rows, (0, keys - rows.shape[-1])) for _, rows in sorted(seen.items())]
            found[site] = torch.cat(padded, 2)
        return found
