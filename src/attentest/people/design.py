"""A study with people from a run (T17, Vashishth et al. 2019 §4.4).

So many texts with the model's own weights and as many others with permuted ones, each with the prediction that the
model makes under those weights; shuffled, and blind. No text is in both conditions: nobody sees one twice.

The seed decides texts, conditions and permutations. The ids of items and their order come from a secret that is drawn
for each study, so that they tell nothing even to those who know the seed, and answers fit no other study.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from attentest.errors import InputError
from attentest.files import is_file, is_folder
from attentest.models.hierarchical import WORD
from attentest.people.known import known_answer
from attentest.people.power import samples_for
from attentest.people.study import (
    FORMAT,
    KNOWN,
    MARKED,
    ORIGINAL,
    Asked,
    Exclusion,
    Item,
    PeopleStudy,
    StudyRecord,
    write_study,
)
from attentest.settings import LARGEST_SEED
from attentest.training.run import Run
from attentest.trials.instances import instances
from attentest.trials.subject import Subject, subject_of

USUAL_SAMPLES = 100  # in each condition, as in the paper
USUAL_KNOWN = 10


def create_study(
    run: Run,
    out: str | Path,
    *,
    n: int | None = None,
    detect: float | None = None,
    seed: int = 0,
    known: int | None = None,
    asked: Asked | None = None,
    exclusion: Exclusion | None = None,
    device: str = "cpu",
) -> PeopleStudy:
    """Write a study with `n` texts in each condition [100], or as many as find a difference of `detect`.

    `known` is the number of items whose answer is known [10, or as many as there are].
    """
    folder = Path(out)
    if is_file(folder) or (is_folder(folder) and any(folder.iterdir())):
        raise InputError(f"{folder} exists already; choose another folder with `out`.")
    _check(n, detect, seed, known)
    samples = samples_for(detect) if detect is not None else USUAL_SAMPLES if n is None else n
    subject = subject_of(run, device=device, site=WORD if run.is_hierarchical else None)
    generator = np.random.default_rng(seed)
    rows = generator.permutation(subject.rows[subject.data.sequences.lengths[subject.rows] > MARKED])
    if len(rows) < 2 * samples:
        raise InputError(
            f"The test split of {run.path} has {len(rows):,} texts of more than {MARKED} tokens; {2 * samples:,} are "
            f"needed for {samples:,} in each of the two conditions. {_advice(detect, len(rows) // 2)}"
        )
    shown = _variants(subject, rows[: 2 * samples], seed)
    first = set(subject.ids(rows[:samples]))
    wanted = [row for row in shown if (row["variant"] == ORIGINAL) == (row["id"] in first)]
    items = [_item(row, row["variant"], _heaviest(row["weight"]), None) for row in wanted]
    items += _known_items(subject, rows[2 * samples :], USUAL_KNOWN if known is None else known, seed)
    count = len(items) - 2 * samples
    if known is not None and count < known:
        raise InputError(
            f"`known` is {known}; only {count} of the {len(rows) - 2 * samples:,} texts that are left can have a known "
            "answer. Ask for fewer, or use a corpus with rationales."
        )
    record = StudyRecord(
        format=FORMAT,
        seed=seed,
        samples=samples,
        known=count,
        asked=asked or Asked(),
        exclusion=exclusion or Exclusion(),
        classes=list(run.classes),
        signature=dict(subject.signature) | {"run": run.name},
        detect=detect,
        items="",
        id=secrets.token_hex(16),
    )
    named = [replace(item, id=_id(record.id, number)) for number, item in enumerate(items)]
    return write_study(folder, record, sorted(named, key=lambda item: item.id))


def _check(n: int | None, detect: float | None, seed: int, known: int | None) -> None:
    if n is not None and detect is not None:
        raise InputError("`n` and `detect` both say how many texts there are; give one.")
    for name, value, least, most in (("n", n, 1, 2**31), ("seed", seed, 0, LARGEST_SEED), ("known", known, 0, 2**31)):
        if value is not None and not least <= value <= most:
            raise InputError(f"`{name}` is {value}; it must be from {least} to {most:,}.")


def _advice(detect: float | None, most: int) -> str:
    if detect is None:
        return f"Choose an `n` of at most {most:,}."
    return f"Detect a larger difference, or give an `n` of at most {most:,}."


def _variants(subject: Subject, rows: np.ndarray, seed: int) -> list[dict[str, Any]]:
    """These texts under the model's own and under permuted weights, each with its prediction."""
    with torch.no_grad():
        table = instances(replace(subject, rows=np.sort(rows)), len(rows), seed, search=False)
    found: list[dict[str, Any]] = table.to_pylist()
    return found


def _known_items(subject: Subject, rows: np.ndarray, wanted: int, seed: int) -> list[Item]:
    """From texts that are in neither condition, a few at a time until there are enough."""
    items: list[Item] = []
    for start in range(0, len(rows), step := max(1, 2 * wanted)):
        if len(items) >= wanted:
            break
        some = rows[start : start + step]
        place = {id: n for n, id in enumerate(subject.ids(some), start)}
        found = [row for row in _variants(subject, some, seed) if row["variant"] == ORIGINAL]
        for row in sorted(found, key=lambda row: place[row["id"]]):
            words = _words(row)
            answer = known_answer(row, words, seed + place[row["id"]])
            if answer is not None:
                items.append(_item(row, KNOWN, *answer))
    return items[:wanted]


def _words(row: Mapping[str, Any]) -> list[str]:
    first = len(row["start"]) - row["in_second"]
    texts = [row["text"]] * first + [row["second"] or ""] * row["in_second"]
    return [text[start:end] for text, start, end in zip(texts, row["start"], row["end"], strict=True)]


def _heaviest(weights: Sequence[float]) -> list[int]:
    """Of words with the same weight the first."""
    return sorted(int(n) for n in np.argsort(-np.array(weights), kind="stable")[:MARKED])


def _item(row: Mapping[str, Any], condition: Any, marked: list[int], expected: bool | None) -> Item:
    return Item(
        id="",
        condition=condition,
        expected=expected,
        source=row["id"],
        text=row["text"],
        second=row["second"],
        start=row["start"],
        end=row["end"],
        in_second=row["in_second"],
        weights=row["weight"],
        marked=marked,
        predicted=row["predicted"],
        label=row["label"],
    )


def _id(secret: str, number: int) -> str:
    return hmac.new(secret.encode(), str(number).encode(), hashlib.sha256).hexdigest()[:16]
