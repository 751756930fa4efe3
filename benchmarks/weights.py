"""Trials that only change weights, against twins that decode the full hidden states each time, as the papers' code.

Both sides start from encoded texts. A twin takes batches of 32 neighbours in length, or one text at a time where the
papers' code does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, partial

import numpy as np
import torch
from torch import Tensor

from attentest.text.batches import Batch, make_batch
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.base import SimpleTrial
from attentest.trials.importance_sets import RANKINGS, ImportanceSets
from attentest.trials.permutation import Permutation
from attentest.trials.reading import Reading, read
from attentest.trials.removal import Flips, Removal
from attentest.trials.scores import ScoreSettings, score
from benchmarks.row import Row
from benchmarks.scene import Scene, Timed, fresh, in_turns, row, scene, timed
from benchmarks.training import BATCH

PERMUTATIONS, CANDIDATES, STEPS, EPSILON = 100, 5, 500, 0.01


def permutation(name: str) -> list[Row]:
    at = scene(name)
    kept, batches = at.read(at.rows), list(encoded_batches(at, at.few))
    ours, twin = partial(held, kept, Permutation(PERMUTATIONS)), partial(twin_permutations, batches)
    few = held(at.read(at.few), Permutation(PERMUTATIONS))["median_tvd"].mean()
    said = (
        f"median TVD of {PERMUTATIONS} permutations; mean {few:.4f}, twin {float(torch.cat(twin()).mean()):.4f} "
        "(other draws)"
    )
    return [row("permutation", at, said, *in_turns(ours, twin), 50, few_of_ours=False)]


def exact_adversary(name: str) -> list[Row]:
    at = scene(name)
    trial = InstanceAdversary(EPSILON, k=CANDIDATES, method="exact")
    twin, theirs = searched(name)
    said = (
        f"largest JSD within TVD {EPSILON}: {CANDIDATES} best vertices against {STEPS} steps of Adam; mean JSD "
        f"{held(at.read(at.few), trial)['max_jsd'].mean():.3f}, twin {theirs:.3f}"
    )
    ours = timed(partial(held, at.read(at.rows), trial), 5)
    return [row("adversary-exact", at, said, ours, twin, 300, few_of_ours=False)]


def adversary_search(name: str) -> list[Row]:
    at = scene(name)
    kept = at.read(at.few)
    trial, short = (InstanceAdversary(EPSILON, k=CANDIDATES, method="search", steps=n) for n in (STEPS, 20))
    twin, theirs = searched(name)
    said = (
        f"{STEPS} steps of Adam for {CANDIDATES} candidates a text; mean JSD "
        f"{np.nanmean(held(kept, trial)['max_jsd']):.3f}, twin {theirs:.3f} (other draws)"
    )
    ours = timed(partial(held, kept, trial), 3, partial(held, kept, short))
    return [row("adversary-search", at, said, ours, twin, 10, few_of_ours=True)]


def removals(name: str) -> list[Row]:
    at = scene(name)
    few, batches = at.read(at.few), list(encoded_batches(at, at.few))
    orders = rankings(few)
    twin = partial(twin_removals, batches, orders)
    said = (
        f"a heaviest and a random item removed, flips, importance sets of {len(RANKINGS)} rankings; sets differ in "
        f"{differing(held(few, ImportanceSets()), twin(), few)}"
    )
    ours = partial(held, at.read(at.rows), Removal(), Flips(), ImportanceSets())
    return [row("removals", at, said, timed(ours, 5), timed(twin, 1), 50, few_of_ours=False)]


def held(kept: list[Reading], *trials: SimpleTrial) -> dict[str, np.ndarray]:
    """The trials on encoded texts: everything beyond the encoding, `token_logits` included."""
    columns: dict[str, list[np.ndarray]] = {}
    with torch.no_grad():
        for reading in fresh(kept):
            for trial in trials:
                for column, values in trial.examine(reading).items():
                    columns.setdefault(column, []).append(np.asarray(values))
    return {column: np.concatenate(values) for column, values in columns.items()}


def encoded_batches(at: Scene, rows: np.ndarray) -> Iterator[Reading]:
    order = rows[np.argsort(at.data.sequences.lengths[rows], kind="stable")]
    for start in range(0, len(order), BATCH):
        batch: Batch = make_batch(at.data, order[start : start + BATCH])
        with torch.no_grad():
            yield read(at.model, batch)


def decode(reading: Reading, weights: Tensor) -> Tensor:
    """The probability of the second class from the full hidden states."""
    decoder = reading.model.decoder  # type: ignore[attr-defined]
    probabilities: Tensor = decoder((weights.unsqueeze(-1) * reading.encoded.hidden).sum(-2)).sigmoid().squeeze(-1)
    return probabilities


@torch.no_grad()
def twin_permutations(batches: list[Reading]) -> list[Tensor]:
    """A loop over permutations, each text's weights shuffled in turn, and a decode of the hidden states for each."""
    found = []
    for reading in batches:
        plain = decode(reading, reading.weights)
        changes = []
        for _ in range(PERMUTATIONS):
            changes.append((decode(reading, shuffled(reading)) - plain).abs())
        found.append(torch.stack(changes).median(0).values)
    return found


def shuffled(reading: Reading) -> Tensor:
    """Each text's weights in another order, a text at a time."""
    found = reading.weights.clone()
    for text, length in enumerate(reading.lengths.tolist()):
        found[text, :length] = found[text, torch.randperm(length)]
    return found


@cache
def searched(name: str) -> tuple[Timed, float]:
    """The twin's search, which both adversary rows stand against, and the mean of the JSD it found."""
    at = scene(name)
    batches = list(encoded_batches(at, at.few))
    found: list[Tensor] = []
    taken = timed(lambda: found.extend(twin_search(batches)), 1, lambda: twin_search(batches[-1:], steps=10))
    return taken, float(torch.cat(found).nanmean())


def twin_search(batches: list[Reading], steps: int = STEPS) -> list[Tensor]:
    """Adam on log-weights of k candidates, with a decode of the full hidden states at each step."""
    return [_search(reading, steps) for reading in batches]


def _search(reading: Reading, steps: int) -> Tensor:
    texts, tokens = reading.mask.shape
    hidden, mask = reading.encoded.hidden.unsqueeze(1), reading.mask.unsqueeze(1)
    decoder = reading.model.decoder  # type: ignore[attr-defined]
    base = reading.weights.unsqueeze(1)
    output = decode(reading, reading.weights).detach().unsqueeze(1)
    start = -reading.lengths.log()[:, None, None] + 3 * torch.randn(texts, CANDIDATES, tokens)
    scores = start.clone().requires_grad_()
    optimizer = torch.optim.Adam([scores], lr=0.01, amsgrad=True)
    for _ in range(steps):
        optimizer.zero_grad()
        candidates = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        predicted = decoder((candidates.unsqueeze(-1) * hidden).sum(-2)).sigmoid().squeeze(-1)
        change = (predicted - output).abs()
        mutual = torch.zeros(texts)
        for i in range(CANDIDATES):
            for j in range(i):
                mutual = mutual + _jsd(candidates[:, i], candidates[:, j])
        pairs = CANDIDATES * (CANDIDATES - 1) / 2
        loss = 500 * (change - EPSILON).clamp(min=0) - _jsd(candidates, base)
        (loss.sum() - (mutual / pairs).sum()).backward()
        optimizer.step()
    with torch.no_grad():
        candidates = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        change = (decoder((candidates.unsqueeze(-1) * hidden).sum(-2)).sigmoid().squeeze(-1) - output).abs()
        distance = torch.where(change <= EPSILON, _jsd(candidates, base), -1).max(1).values
    return torch.where(distance >= 0, distance, torch.nan)


def _jsd(p: Tensor, q: Tensor) -> Tensor:
    middle = (p + q) / 2
    small = 1e-10  # as plain code guards the logarithm
    return sum((x * ((x + small) / (middle + small)).log()).sum(-1) / 2 for x in (p, q))  # type: ignore[return-value]


@torch.no_grad()
def twin_removals(batches: list[Reading], orders: dict[int, dict[str, Tensor]]) -> dict[int, dict[str, float]]:
    """A text at a time: each removal zeroes a weight, renormalises and decodes; sets grow until the decision flips."""
    found = {}
    for reading in batches:
        for text, length in enumerate(reading.lengths.tolist()):
            name = int(reading.rows[text])
            one = Reading(
                reading.model,
                reading.batch,
                type(reading.encoded)(reading.encoded.hidden[text, :length], reading.mask[text, :length], None),
                reading.weights[text, :length],
                reading.logits[text],
            )
            decision = bool(decode(one, one.weights) > 0.5)
            for _trial in ("removal", "flips"):
                for item in (int(one.weights.argmax()), int(torch.randint(length, ()))):
                    decode(one, _without(one.weights, torch.tensor([item])))
            found[name] = {
                ranking: next(
                    (
                        gone / length
                        for gone in range(1, length)
                        if bool(decode(one, _without(one.weights, order[:gone])) > 0.5) != decision
                    ),
                    np.nan,
                )
                for ranking, order in orders[name].items()
            }
    return found


def _without(weights: Tensor, items: Tensor) -> Tensor:
    left = weights.clone()
    left[items] = 0
    return left / left.sum()


def rankings(few: list[Reading]) -> dict[int, dict[str, Tensor]]:
    """The orders in which the twin removes items; it gets them for nothing."""
    found: dict[int, dict[str, Tensor]] = {}
    for reading in fresh(few):
        scores = {ranking: score(reading, ranking, ScoreSettings()) for ranking in RANKINGS}
        for text, (name, length) in enumerate(zip(reading.rows.tolist(), reading.lengths.tolist(), strict=True)):
            found[name] = {
                ranking: values[text, :length].argsort(descending=True, stable=True)
                for ranking, values in scores.items()
            }
    return found


def differing(ours: dict[str, np.ndarray], twin: dict[int, dict[str, float]], few: list[Reading]) -> str:
    names = [int(name) for reading in few for name in reading.rows]
    pairs = [(ours[ranking][place], twin[name][ranking]) for ranking in RANKINGS for place, name in enumerate(names)]
    return f"{sum(not np.isclose(a, b, equal_nan=True) for a, b in pairs)} of {len(pairs):,} cases"
