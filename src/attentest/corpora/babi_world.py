"""bAbI tasks 1 to 3 from a small simulated world: where is a person, where is a thing, where was it before?

Four people move between six places, take three things and drop them. Each statement is one event; after
every second one a question may be asked, five to a story, and a row is a question with all statements
before it. Which statements support an answer follows the convention of the original data (release 1.2):

- task 1: the person's last move;
- task 2: the last time the thing was taken or dropped, and the move that brought its holder to the place;
- task 3: the last time the thing was taken or dropped, and two moves in a row its holder made with it. A
  thing that came to a place more than once is asked about its last coming there.

People start at places that are not told, so a question is asked only where the statements answer it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import numpy as np

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import MOST_ROWS, Corpus
from attentest.corpora.recipes import BABI_RECIPE
from attentest.errors import InputError
from attentest.settings import LARGEST_SEED

PEOPLE = ("Daniel", "John", "Mary", "Sandra")
PLACES = ("bathroom", "bedroom", "garden", "hallway", "kitchen", "office")
THINGS = ("apple", "football", "milk")
MOVING = ("went", "moved", "journeyed", "travelled", "went back")
TAKING = ("got", "took", "grabbed", "picked up")
DROPPING = ("dropped", "left", "discarded", "put down")
QUESTIONS = 5  # in a story
FEWEST_ROWS = 20

# Fitted to the original data: how often "there" ends a statement, how much likelier taking a thing is than
# moving or dropping, and how often a question is about a thing someone still holds, where there is one.
THERE_TAKEN = {2: 1.0, 3: 0.2}
THERE_DROPPED = 0.2
EAGER_TO_TAKE = 2.0
ASK_WHILE_HELD = {2: 0.5, 3: 0.12}


def generate(task: int, rows: int = 11_000, seed: int = 0) -> Corpus:
    """A pair corpus of questions about stories; the rationale marks all words of the supporting statements.

    One story in eleven is for testing and 15 % of the others for development, so that no story is in two
    splits. Story by story the rows depend on the seed alone: asking for more keeps the first ones.
    """
    if task not in (1, 2, 3):
        raise InputError(f"bAbI task {task} cannot be generated; choose 1, 2 or 3.")
    if not FEWEST_ROWS <= rows <= MOST_ROWS or not 0 <= seed <= LARGEST_SEED:
        raise InputError(
            f"rows={rows}, seed={seed}: ask for {FEWEST_ROWS} to {MOST_ROWS:,} rows, with a seed of 0 to "
            f"{LARGEST_SEED:,}."
        )
    columns: dict[str, list[Any]] = {key: [] for key in ("id", "split", "text", "second", "label", "rationale")}
    for story in range(-(-rows // QUESTIONS)):
        asked = _story(task, np.random.default_rng([seed, task, story]))
        for number, (sentences, question) in zip(range(min(QUESTIONS, rows - story * QUESTIONS)), asked, strict=False):
            columns["id"].append(f"{story}.{number}")
            columns["split"].append(_split(story))
            columns["text"].append("\n".join(sentences))
            columns["second"].append(question.text)
            columns["label"].append(question.answer)
            columns["rationale"].append(_mark(sentences, question.support))
    return build_corpus(f"babi{task}-generated", columns, kind="pair", classes=PLACES, recipe=BABI_RECIPE)


@dataclass(frozen=True)
class Question:
    """A question, its answer as a place, and the statements that support it."""

    text: str
    answer: int
    support: tuple[int, ...]
    held: bool = False


@dataclass
class Trace:
    """What the story has told of a thing since it was last taken."""

    holder: int
    event: int  # the statement that says it was last taken or dropped
    held: bool = True
    journey: list[int] = field(default_factory=list)  # moves made with it
    arrival: int | None = None  # the move that brought its holder to where it lies


class World:
    """People, things and places, and the statements told so far."""

    def __init__(self, task: int, generator: np.random.Generator) -> None:
        self.task = task
        self.generator = generator
        self.sentences: list[str] = []
        self.place_of: list[int] = generator.integers(len(PLACES), size=len(PEOPLE)).tolist()
        self.thing_at: list[int | None] = generator.integers(len(PLACES), size=len(THINGS)).tolist()
        self.last_move: dict[int, int] = {}
        self.destination: dict[int, int] = {}  # of each move, by statement
        self.traces: dict[int, Trace] = {}

    def step(self) -> None:
        """One event more: a person moves, takes a thing that lies there, or drops one."""
        person = int(self.generator.integers(len(PEOPLE)))
        if self.task == 1 or not self._handle_thing(person):
            self._move(person)

    def _move(self, person: int) -> None:
        other = int(self.generator.integers(len(PLACES) - 1))
        place = other + (other >= self.place_of[person])
        now = len(self.sentences)
        self.place_of[person], self.last_move[person], self.destination[now] = place, now, place
        for trace in self.traces.values():
            if trace.held and trace.holder == person:
                trace.journey.append(now)
        self.sentences.append(f"{PEOPLE[person]} {self._pick(MOVING)} to the {PLACES[place]}.")

    def _handle_thing(self, person: int) -> bool:
        """Take or drop something, unless moving is drawn."""
        lying = [i for i, place in enumerate(self.thing_at) if place == self.place_of[person]]
        carried = [i for i, trace in self.traces.items() if trace.held and trace.holder == person]
        options = [None, *lying, *carried]
        ends = np.cumsum([1.0] + [EAGER_TO_TAKE] * len(lying) + [1.0] * len(carried))
        drawn = int(np.searchsorted(ends, self.generator.random() * ends[-1], side="right"))
        thing = options[drawn]
        if thing is None:
            return False
        now = len(self.sentences)
        if drawn <= len(lying):
            self.thing_at[thing], self.traces[thing] = None, Trace(person, now)
            verb, there = self._pick(TAKING), THERE_TAKEN[self.task]
        else:
            trace = self.traces[thing]
            trace.event, trace.held, trace.arrival = now, False, self.last_move.get(person)
            self.thing_at[thing] = self.place_of[person]
            verb, there = self._pick(DROPPING), THERE_DROPPED
        ending = " there." if self.generator.random() < there else "."
        self.sentences.append(f"{PEOPLE[person]} {verb} the {THINGS[thing]}{ending}")
        return True

    def _pick(self, words: Sequence[str]) -> str:
        return words[int(self.generator.integers(len(words)))]

    def questions(self) -> list[Question]:
        """Every question of the task that the statements answer."""
        if self.task == 1:
            return [
                Question(f"Where is {PEOPLE[person]}?", self.destination[move], (move,))
                for person, move in sorted(self.last_move.items())
            ]
        ask = self._where_is if self.task == 2 else self._where_was
        return [question for thing in sorted(self.traces) for question in ask(thing, self.traces[thing])]

    def _where_is(self, thing: int, trace: Trace) -> Iterator[Question]:
        move = (trace.journey[-1] if trace.journey else None) if trace.held else trace.arrival
        if move is not None:
            text = f"Where is the {THINGS[thing]}?"
            yield Question(text, self.destination[move], (trace.event, move), trace.held)

    def _where_was(self, thing: int, trace: Trace) -> Iterator[Question]:
        last = {self.destination[move]: i for i, move in enumerate(trace.journey)}
        for place, i in last.items():
            if i > 0:
                before, move = trace.journey[i - 1], trace.journey[i]
                text = f"Where was the {THINGS[thing]} before the {PLACES[place]}?"
                yield Question(text, self.destination[before], (trace.event, move, before), trace.held)


def _story(task: int, generator: np.random.Generator) -> Iterator[tuple[list[str], Question]]:
    """The questions of one story without end, each with the statements before it."""
    world = World(task, generator)
    for statement in count(1):
        world.step()
        if statement % 2:
            continue
        share = ASK_WHILE_HELD.get(task, 1.0)
        possible = world.questions()
        if any(question.held for question in possible) and generator.random() >= share:
            possible = [question for question in possible if not question.held]
        if possible:
            yield list(world.sentences), possible[int(generator.integers(len(possible)))]


def _split(story: int) -> str:
    if story % 11 == 2:
        return "test"
    rank = story - (story + 8) // 11  # its number among the stories that are not for testing
    return "dev" if rank % 20 in (1, 8, 15) else "train"


def _mark(sentences: Sequence[str], support: Sequence[int]) -> np.ndarray:
    marks = [np.full(len(s.split()), i in support, dtype=np.int8) for i, s in enumerate(sentences)]
    return np.concatenate(marks)
