"""Generated bAbI stories, read back by a second simulation that knows only the English sentences."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from attentest.corpora.babi_world import PLACES, generate
from attentest.errors import InputError

TASKS = (1, 2, 3)
GRAMMAR = {
    "move": re.compile(r"(\w+) (?:went|moved|journeyed|travelled|went back) to the (\w+)\."),
    "take": re.compile(r"(\w+) (?:got|took|grabbed|picked up) the (\w+)(?: there)?\."),
    "drop": re.compile(r"(\w+) (?:dropped|left|discarded|put down) the (\w+)(?: there)?\."),
}


def parse(sentence: str) -> tuple[str, str, str]:
    found = [(kind, m[1], m[2]) for kind, rule in GRAMMAR.items() if (m := rule.fullmatch(sentence))]
    assert len(found) == 1, sentence
    return found[0]


def stays(sentences: Iterable[str], thing: str) -> list[str]:
    """The places of a thing, one after the other, as far as the sentences tell them."""
    events = [parse(s) for s in sentences]
    touched = [(kind, who) for kind, who, what in events if kind != "move" and what == thing]
    # one who drops a thing nobody was seen to take has had it all along
    holder = touched[0][1] if touched and touched[0][0] == "drop" else None
    where: dict[str, str] = {}
    places: list[str] = []
    for kind, who, what in events:
        if kind == "move":
            where[who] = what
        elif what == thing:
            holder = who if kind == "take" else None
        here = where.get(who)
        told = who == holder or (kind == "drop" and what == thing)
        if told and here is not None and places[-1:] != [here]:
            places.append(here)
    return places


def answer(sentences: Sequence[str], question: str) -> str | None:
    """What the sentences say, or None where they leave it open."""
    if m := re.fullmatch(r"Where was the (\w+) before the (\w+)\?", question):
        before = [a for a, b in pairwise(stays(sentences, m[1])) if b == m[2]]
        return before[-1] if before else None
    if m := re.fullmatch(r"Where is the (\w+)\?", question):
        places = stays(sentences, m[1])
        return places[-1] if places else None
    m = re.fullmatch(r"Where is (\w+)\?", question)
    assert m, question
    moves = [what for kind, who, what in map(parse, sentences) if kind == "move" and who == m[1]]
    return moves[-1] if moves else None


def supporting(text: str, rationale: Sequence[int]) -> list[int]:
    """The numbers of the sentences that are marked; a sentence is marked as a whole or not at all."""
    marks = iter(rationale)
    spans = [{next(marks) for _ in sentence.split()} for sentence in text.split("\n")]
    assert next(marks, None) is None
    assert all(len(span) == 1 for span in spans)
    return [i for i, span in enumerate(spans) if span == {1}]


@pytest.mark.parametrize("task", TASKS)
def test_answers_and_support_are_right_by_a_second_simulation(task: int) -> None:
    corpus = generate(task, rows=600, seed=3)
    assert corpus.kind == "pair"
    for row in corpus.table.to_pylist():
        sentences, truth = row["text"].split("\n"), corpus.classes[row["label"]]
        facts = supporting(row["text"], row["rationale"])
        assert len(facts) == task
        assert answer(sentences, row["second"]) == truth
        assert answer([sentences[i] for i in facts], row["second"]) == truth
        for left_out in facts:
            assert answer([sentences[i] for i in facts if i != left_out], row["second"]) != truth


@pytest.mark.parametrize("task", TASKS)
def test_world_is_consistent(task: int) -> None:
    """Nobody moves to where they are; things are taken where they lie, and dropped by who holds them."""
    corpus = generate(task, rows=100)
    for text in corpus.table["text"].to_pylist()[4::5]:
        where: dict[str, str] = {}
        lies: dict[str, str | None] = {}
        holds: dict[str, str] = {}
        for kind, who, what in map(parse, text.split("\n")):
            if kind == "move":
                assert where.get(who) != what
                where[who] = what
            elif kind == "take":
                assert what not in holds
                place = lies.pop(what, None)
                assert place is None or where.get(who) in (place, None)
                holds[what] = who
            else:
                assert holds.pop(what) == who
                lies[what] = where.get(who)


def test_second_simulation_on_a_story_made_by_hand() -> None:
    story = [
        "Mary took the milk there.",
        "Mary went to the office.",
        "John moved to the garden.",
        "Mary went back to the kitchen.",
        "Mary dropped the milk.",
        "Mary journeyed to the bedroom.",
        "John travelled to the kitchen.",
        "John picked up the milk.",
        "John went to the hallway.",
    ]
    assert stays(story, "milk") == ["office", "kitchen", "hallway"]
    assert answer(story, "Where is Mary?") == "bedroom"
    assert answer(story, "Where is the milk?") == "hallway"
    assert answer(story, "Where was the milk before the kitchen?") == "office"
    assert answer(story, "Where is the apple?") is None


def test_task_1_asks_after_every_second_statement() -> None:
    lengths = [text.count("\n") + 1 for text in generate(1, rows=50).table["text"].to_pylist()]
    assert lengths == [2, 4, 6, 8, 10] * 10


@pytest.mark.parametrize(("task", "sentences", "words"), [(1, 6.0, 12.5), (2, 15.6, 23.7), (3, 50.5, 29.9)])
def test_size_of_stories_is_near_the_original(task: int, sentences: float, words: float) -> None:
    texts = generate(task, rows=2000).table["text"].to_pylist()
    assert np.mean([t.count("\n") + 1 for t in texts]) == pytest.approx(sentences, rel=0.12)
    assert np.mean([len(set(t.split())) for t in texts]) == pytest.approx(words, rel=0.08)


def test_splits_have_the_papers_shares_and_share_no_story() -> None:
    corpus = generate(1)
    assert {s: sum(n.values()) for s, n in corpus.counts().items()} == {
        "train": 8500,
        "dev": 1500,
        "test": 1000,
    }
    stories = [row.split(".")[0] for row in corpus.table["id"].to_pylist()]
    assert len(set(zip(stories, corpus.split.tolist(), strict=True))) == len(set(stories))


def test_smallest_corpus_has_every_split_and_all_places_as_classes() -> None:
    corpus = generate(2, rows=20)
    assert set(corpus.split.tolist()) == {"train", "dev", "test"}
    assert corpus.classes == PLACES


def test_more_rows_keep_the_first_ones_and_another_seed_changes_them() -> None:
    few, many = generate(3, rows=43), generate(3, rows=60)
    assert len(few) == 43
    assert many.table.slice(0, 43).to_pylist() == few.table.to_pylist()
    assert generate(3, rows=43, seed=1).fingerprint() != few.fingerprint()


@pytest.mark.parametrize("options", [{"task": 4}, {"task": 1, "rows": 3}, {"task": 1, "seed": -1}], ids=str)
def test_bad_options_are_refused_in_a_sentence(options: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"task 4|rows=3|seed=-1"):
        generate(**options)


def originals(task: int) -> list[dict[str, Any]]:
    given = os.environ.get("ATTENTEST_DATA")
    data = Path(given) if given else Path(__file__).resolve().parents[2].parent / "shared" / "data"
    files = sorted((data / f"babi{task}").glob("*.parquet"))
    if not files:
        pytest.skip("the original bAbI data are not here: set ATTENTEST_DATA to the folder that holds them")
    return [row for file in files for row in pq.read_table(file).slice(0, 1000).to_pylist()]


@pytest.mark.parametrize("task", TASKS)
def test_original_answers_and_support_follow_the_same_convention(task: int) -> None:
    rows = originals(task)
    for row in rows:
        sentences = row["context"].split("\n")
        assert len(row["supporting"]) == task
        assert answer(sentences, row["question"]) == row["answer"]
        facts = [sentences[i] for i in sorted(row["supporting"])]
        assert answer(facts, row["question"]) == row["answer"]
