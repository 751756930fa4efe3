"""Sinks of a run's model, found on texts that verdicts without sinks do not judge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attentest.models.pretrained.sinks import FIRST, Sink, enough_texts, find_sinks
from attentest.text.prepare import TokenizedCorpus
from attentest.text.sequences import Sequences
from attentest.training.run import Run
from attentest.trials.reading import readings
from attentest.trials.subject import Subject, subject_of
from attentest.trials.work import tokens_at_once

SHARE, FEWEST, MOST = 0.2, 40, 400  # of a run's test texts that sinks are looked for on, at least and at most


@dataclass(frozen=True)
class FoundSink:
    """A sink as it is told."""

    name: str  # the word piece as it is written, or "first token" or "last token"
    piece: int | None  # the id of a word piece
    place: str | None  # first or last
    stands: float  # share of the texts
    weight: float  # mean weight in these
    times: float  # its share of the weight: what even weights would give it


@dataclass(frozen=True)
class SinkSearch:
    """On how many texts sinks were looked for, whether these were enough, and what was found."""

    texts: int
    enough: bool
    sinks: list[FoundSink]

    @property
    def found(self) -> list[Sink]:
        return [Sink(one.piece, one.place, one.stands, one.weight, one.times) for one in self.sinks]


def texts_for_sinks(data: TokenizedCorpus) -> np.ndarray:
    """Which of a run's test texts, a row of each: the last of the order whose first ones trials judge, and no more than
    half."""
    rows = data.one_of_each_text(np.arange(len(data.rows)))
    count = len(rows)
    wanted = min(MOST, max(round(SHARE * count), min(FEWEST, count // 2)))
    found: np.ndarray = np.sort(np.random.default_rng(0).permutation(rows)[count - wanted :])
    return found


def judged_without_sinks(subject: Subject) -> Subject:
    """The subject without the texts that its sinks were found on, in whatever windows."""
    texts = subject.data.rows
    rows = subject.rows[~np.isin(texts[subject.rows], texts[texts_for_sinks(subject.data)])]
    return replace(subject, rows=rows, signature={**subject.signature, "texts": len(rows)})


def look_for_sinks(run: Run, device: str = "cpu", memory: int | None = None) -> SinkSearch:
    return sinks_of(subject_of(run, device=device, memory=memory), run.vocabulary.tokens)


def sinks_of(subject: Subject, tokens: Sequence[str], at_once: int | None = None) -> SinkSearch:
    """Of a model with these word pieces; `at_once` tokens are read at a time, or as many as fit."""
    rows = texts_for_sinks(subject.data)
    if not len(rows):
        return SinkSearch(0, False, [])
    sequences = subject.data.sequences
    weights: dict[int, np.ndarray] = {}
    predicted: dict[int, int] = {}
    at_once = at_once or tokens_at_once(subject, {})
    for reading in readings(subject.model, subject.data, rows, subject.device, at_once):
        shown, lengths = reading.attention.float().cpu().numpy(), reading.lengths.tolist()
        for row, own, length, told in zip(reading.rows, shown, lengths, reading.predicted.tolist(), strict=True):
            weights[int(row)], predicted[int(row)] = own[:length], told
    chosen = Sequences(
        np.concatenate([sequences[row] for row in rows]),
        np.concatenate(([0], np.cumsum(sequences.lengths[rows]))),
    )
    classes = np.array([predicted[row] for row in rows.tolist()])
    found = find_sinks(chosen, np.concatenate([weights[row] for row in rows.tolist()]), classes)
    return SinkSearch(len(rows), enough_texts(classes), [_told(sink, tokens) for sink in found])


def _told(sink: Sink, tokens: Sequence[str]) -> FoundSink:
    place = "first token" if sink.place == FIRST else "last token"
    return FoundSink(place if sink.piece is None else tokens[sink.piece], **vars(sink))
