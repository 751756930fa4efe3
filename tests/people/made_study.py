"""A study with people that needs no model, and what three annotators answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from attentest.people.answers import Answers, Given
from attentest.people.study import Asked, Exclusion, Item, PeopleStudy, StudyRecord, write_study

SAMPLES = 30


def make_study(folder: Path, **rule: Any) -> PeopleStudy:
    """30 original, 30 permuted and 8 known items; every third prediction is wrong."""
    items = [
        Item(
            id=f"{condition[0]}{n}",
            condition=condition,  # type: ignore[arg-type]
            expected=n % 2 == 0 if condition == "known" else None,
            source=f"{condition}-{n}",
            text="one two three four",
            second=None,
            start=[0, 4, 8, 14],
            end=[3, 7, 13, 18],
            in_second=0,
            weights=[0.1, 0.2, 0.3, 0.4],
            marked=[1, 2, 3],
            predicted="yes",
            label="no" if n % 3 == 0 else "yes",
        )
        for condition, count in (("original", SAMPLES), ("permuted", SAMPLES), ("known", 8))
        for n in range(count)
    ]
    signature = {"corpus": "made", "model": "m"}
    record = StudyRecord(1, 0, SAMPLES, 8, Asked(), Exclusion(**rule), ["no", "yes"], signature, None, "", "secret")
    return write_study(folder, record, items)


def says(annotator: str, item: Item) -> bool:
    """ann and bo read; bo differs now and then; cy always says yes."""
    if annotator == "cy":
        return True
    if item.condition == "known":
        return bool(item.expected)
    n = int(item.id[1:])
    relevant = n % 10 != 0 if item.condition == "original" else n % 5 == 0
    return not relevant if annotator == "bo" and n % 7 == 3 else relevant


def answer(study: PeopleStudy, names: tuple[str, ...], milliseconds: int = 2000) -> None:
    answers = Answers(study.answers_url)
    answers.enroll(names)
    for name in names:
        for item in study.items:
            given = Given(item.id, says(name, item), [1, 2], 4, "fine, \"so\" 'far'\nü", milliseconds)
            answers.save(name, given, f"{item.id}")
    answers.close()
