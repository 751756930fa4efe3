"""Hold trials: read every text once, put each question to it, and conclude."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pyarrow as pa
import torch

from attentest.errors import InputError
from attentest.files import inside
from attentest.memory import out_of_memory
from attentest.models.protocol import added_tokens
from attentest.trials.base import (
    NOTHING_TO_MOVE,
    Columns,
    Conclusion,
    Examiner,
    ExaminesAgain,
    Trial,
    charts_of,
    common_columns,
    with_classes,
    with_numbers,
    with_several_items,
    works_of,
)
from attentest.trials.finding import Finding
from attentest.trials.reading import readings
from attentest.trials.subject import Subject, check_subject
from attentest.trials.work import tokens_at_once
from attentest.version import __version__

Watch = Callable[[int, int], None]  # texts done, texts in all


def hold(trials: Sequence[Trial], subject: Subject, watch: Watch = lambda done, total: None) -> list[Finding]:
    """The findings of all `trials`; texts are encoded once for all of them, and only rows of results are kept."""
    check_subject(subject)
    for trial in trials:
        if trial.needs_layers and subject.view:
            raise InputError(
                f"The trial {trial.name} looks at every layer and head, and tells special tokens from others; leave "
                "out `head`, `weights` and `special`."
            )
    examiners = [trial.examiner(subject) for trial in trials]
    collected: list[dict[str, list[Any]]] = [{} for _ in trials]
    order: list[np.ndarray] = []
    done = 0
    at_once = tokens_at_once(subject, works_of(trials, subject))
    for some, found in _examined(examiners, subject, at_once):
        order.append(some)
        for columns, more in zip(collected, found, strict=True):
            _collect(columns, more)
        done += len(some)
        watch(done, len(subject.rows))
    rows = np.concatenate(order)
    for examiner, columns in zip(examiners, collected, strict=True):
        if isinstance(examiner, ExaminesAgain):
            _collect(columns, examiner.examine_again(rows))
    return [
        _conclude(trial, examiner, columns, rows, subject)
        for trial, examiner, columns in zip(trials, examiners, collected, strict=True)
    ]


def _examined(
    examiners: Sequence[Examiner], subject: Subject, at_once: int
) -> Iterator[tuple[np.ndarray, list[Columns]]]:
    """Rows of texts with what the examiners find; where memory does not suffice, half as many tokens at a time."""
    left = subject.rows
    fewest = int(subject.read_lengths.max(initial=1)) + added_tokens(subject.model)
    in_turn = sorted(range(len(examiners)), key=lambda place: _keeps(examiners[place]))  # those that can be asked again
    while len(left):
        kept = False  # whether an examiner has put down what it saw: these texts must not be shown to it again
        try:
            for reading in readings(subject.model, subject.data, left, subject.device, at_once, subject.site):
                found: dict[int, Columns] = {}
                with torch.no_grad():
                    common = common_columns(reading, subject.classes, subject.items)
                    for place in in_turn:
                        found[place] = {**common, **examiners[place].examine(reading)}
                        kept = kept or _keeps(examiners[place])
                kept = False
                some = reading.rows
                del reading  # before the next is read
                yield some, [found[place] for place in range(len(examiners))]
                left = left[~np.isin(left, some)]
        except (RuntimeError, MemoryError) as error:
            if kept or not out_of_memory(error) or at_once <= fewest:
                raise
            at_once = max(fewest, at_once // 2)


def _keeps(examiner: Examiner) -> bool:
    """Whether it may put down what it sees: those of ours that do not are frozen."""
    made = getattr(examiner, "__dataclass_params__", None)
    return not (isinstance(examiner, Trial) or (made is not None and made.frozen))


def concluded(trial: Trial, examiner: Examiner, table: pa.Table) -> Conclusion:
    """What these texts say, without those that the trial says nothing about."""
    return _of_several(examiner, table) if trial.moves_weight else examiner.conclude(table)


def _of_several(examiner: Examiner, table: pa.Table) -> Conclusion:
    """The conclusion from texts in which weight can be moved, with a note about the others."""
    several, notes = with_several_items(table)
    conclusion = examiner.conclude(several) if len(several) else Conclusion(NOTHING_TO_MOVE, {})
    return replace(conclusion, notes=(*conclusion.notes, *notes))


def _collect(columns: dict[str, list[Any]], found: Columns) -> None:
    for name, values in found.items():
        columns.setdefault(name, []).extend(values.tolist() if isinstance(values, np.ndarray) else values)


def _conclude(
    trial: Trial, examiner: Examiner, columns: Mapping[str, list[Any]], rows: np.ndarray, subject: Subject
) -> Finding:
    place = np.argsort(rows, kind="stable")  # back from shortest-first to the order of the corpus
    head = {"id": subject.ids(rows), "label": subject.labels(rows).tolist()}
    table = with_classes(pa.table({**head, **columns}).take(place), subject.classes)
    conclusion = concluded(trial, examiner, table)
    table = with_numbers(table, conclusion.for_charts)
    finding = Finding(
        trial=trial.name,
        question=trial.question,
        answer=conclusion.answer,
        table=table,
        summary=conclusion.summary,
        signature={
            "attentest": __version__,
            "trial": trial.name,
            "site": subject.chosen_site,
            # an examiner may have settled what the trial left open
            "settings": asdict(examiner if isinstance(examiner, Trial) else trial),  # type: ignore[call-overload]
            **subject.signature,
        },
        charts=charts_of(type(trial), table, conclusion.summary),
        notes=tuple(conclusion.notes),
        headline=trial.headline,
    )
    return finding if subject.folder is None else finding.save(inside(subject.folder, subject.place_of(trial.name)))
