"""A run that is looked at: opened once, read one text at a time, never written to."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from attentest.errors import InputError
from attentest.memory import check_memory
from attentest.models.hierarchical import SENTENCE
from attentest.models.pretrained.explanations import EXPLANATIONS
from attentest.models.pretrained.view import View
from attentest.models.protocol import AffineModel, AttentionModel, LayersModel, SizedModel, provides
from attentest.server.explorer.asked import Reference
from attentest.server.explorer.glance import Glance, glance, has_rows_of_queries
from attentest.server.explorer.turns import InTurns
from attentest.text.batches import Batch, make_batch
from attentest.text.items import NO_TEXT, Items
from attentest.text.pieces import PieceTokenizer
from attentest.text.prepare import TokenizedCorpus
from attentest.training.predict import device_of
from attentest.training.run import Run
from attentest.training.run_texts import read_text
from attentest.trials.instances import spans_of_sentences
from attentest.trials.reading import Reading, check_site, read
from attentest.trials.scores import SCORES, usable
from attentest.trials.sinks import SinkSearch

KEPT, BYTES_KEPT = 16, 400_000_000  # texts whose states are kept, and what they may take; the last one always is


@dataclass(frozen=True)
class Looked:
    """A text as the model read it; of a layer with rows for every token first a glance."""

    read: Callable[[], Reading]
    glance: Glance | None
    items: Items
    texts: tuple[str, str | None]
    row: int | None
    windows: int  # that it has
    cut: int  # tokens that were not read
    rationale: list[int] | None

    @cached_property
    def reading(self) -> Reading:
        with torch.no_grad():
            return self.read()

    @property
    def probabilities(self) -> Tensor:
        return self.reading.probabilities[0] if self.glance is None else self.glance.probabilities

    @property
    def size(self) -> int:
        """In bytes, about."""
        made: Reading | None = vars(self).get("reading")
        every = [] if made is None else [made.weights, *vars(made.encoded).values()]
        every += [] if self.glance is None else [self.glance.weights]
        return sum(one.nbytes for one in every if isinstance(one, Tensor))


@dataclass
class Opened:
    run: Run
    lock: threading.RLock = field(default_factory=threading.RLock)  # around what is kept, and a network with hooks
    kept: OrderedDict[Any, Looked] = field(default_factory=OrderedDict)
    seen: dict[View, tuple[Run, TokenizedCorpus]] = field(default_factory=dict)
    asking: int = 0  # requests that are being answered …
    counting: threading.Lock = field(default_factory=threading.Lock)  # … and are counted before they wait for a turn
    sinks: SinkSearch | None = None  # of a model with self-attention, once they were looked for

    def __post_init__(self) -> None:
        if not self.run.finished:
            raise InputError(f"{self.run.path} is not finished; train it to the end first.")
        self.data = self.run.test_data()
        self.run.model.eval()

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Within, work in the background waits."""
        with self.counting:
            self.asking += 1
        try:
            yield
        finally:
            with self.counting:
                self.asking -= 1

    @cached_property
    def sites(self) -> list[str]:
        return list(self.run.model.sites)

    @cached_property
    def heads(self) -> dict[str, int]:
        model = self.run.model
        return dict(model.heads) if self.run.is_pretrained and provides(model, LayersModel) else {}

    @cached_property
    def has_special(self) -> bool:
        """Whether there are special tokens that can be shown."""
        found = self.run.tokenizer
        return isinstance(found, PieceTokenizer) and found.frame(pair=self.run.kind == "pair").size > 0

    @cached_property
    def measures(self) -> list[str]:
        return [name for name in usable(self.run.model, tuple(SCORES)) if name not in ("attention", "random")]

    def about(self) -> dict[str, Any]:
        run = self.run
        return {
            "name": run.name,
            "corpus": run.record.corpus.name,
            "kind": run.kind,
            "classes": run.classes,
            "metrics": {name: None if np.isnan(value) else value for name, value in run.metrics.items()},
            "texts": run.predictions.num_rows,
            "sites": self.sites,
            "heads": self.heads,
            "views": list(EXPLANATIONS) if run.is_pretrained else [],
            "measures": self.measures,
            "affine": provides(run.model, AffineModel),
            "hierarchical": run.is_hierarchical,
            "special": self.has_special,
            "sinks": None if self.sinks is None else [sink.name for sink in self.sinks.sinks],
            "reads_own_texts": not run.has_given_weights,
            "max_tokens": run.max_tokens,
        }

    def model_of(self, run: Run, give_way: Callable[[], None] = lambda: None) -> AttentionModel:
        """As it is used by several requests at a time."""
        return cast(AttentionModel, InTurns(run.model, self.lock, give_way)) if run.is_pretrained else run.model

    def look(self, asked: Reference) -> Looked:
        """The text as it is read, encoded once while it is among the last asked for."""
        with self.lock:
            if asked.key in self.kept:
                self.kept.move_to_end(asked.key)
                return self.kept[asked.key]
        found = self._read(asked)
        with self.lock:
            self.kept[asked.key] = found
            while len(self.kept) > KEPT or (
                len(self.kept) > 1 and sum(one.size for one in self.kept.values()) > BYTES_KEPT
            ):
                self.kept.popitem(last=False)
        return found

    def _read(self, asked: Reference) -> Looked:
        if (asked.row is None) == (asked.text is None):
            raise InputError("Name a text by `row`, or give one as `text`.")
        run, data = self._seen(asked)
        site = check_site(run.model, asked.site)
        items, batch, texts, rationale, windows = (
            _of_row(run, data, asked.row, asked) if asked.row is not None else _own(run, asked)
        )
        counts = [len(run.tokenizer.tokens(one)) for one in texts[: 2 if run.tokenizer.in_pieces else 1] if one]
        cut = max(0, sum(counts) - int((items.texts != NO_TEXT).sum()))
        if site == SENTENCE and batch.sentences is not None:
            spans = spans_of_sentences(items.spans, batch.sentences[0].numpy())
            numbers = np.arange(len(spans))
            items = Items([texts[0][a:b] for a, b in spans], spans, np.zeros_like(numbers), numbers)
            rationale = None
        if provides(run.model, SizedModel):
            costs, tokens = run.model.costs(len(items.tokens), site), len(items.tokens)
            check_memory(costs.token * (tokens + costs.added), f"Reading a text of {tokens:,} tokens at {site}")
        model, batch = self.model_of(run), batch.to(device_of(run.model))
        seen = None
        if run.is_pretrained and has_rows_of_queries(model, site, asked.view):
            seen = glance(model, batch, site, asked.head)
        found = Looked(lambda: read(model, batch, site), seen, items, texts, asked.row, windows, cut, rationale)
        if seen is None:
            found.reading  # noqa: B018  (made here, so that it is kept)
        return found

    def _seen(self, asked: Reference) -> tuple[Run, TokenizedCorpus]:
        view = View(asked.site if self.run.is_pretrained else None, asked.head, asked.view, asked.special)
        if view == View():
            return self.run, self.data
        if not self.run.is_pretrained:
            raise InputError("This model has no heads, views or special tokens to choose; leave them out.")
        with self.lock:
            if view not in self.seen:
                run = self.run.seen(view)
                self.seen[view] = run, self._counting_special if asked.special else self.data
            return self.seen[view]

    @cached_property
    def _counting_special(self) -> TokenizedCorpus:
        return self.run.seen(View(special=True)).test_data()


Read = tuple[Items, Batch, tuple[str, str | None], list[int] | None, int]  # its windows come last


def _of_row(run: Run, data: TokenizedCorpus, number: int, asked: Reference) -> Read:
    if asked.text is not None or asked.second is not None:
        raise InputError("A text of the test split has its second text already; leave out `second`.")
    if number >= run.predictions.num_rows:
        raise InputError(f"row is {number}; the test split has {run.predictions.num_rows} texts.")
    windows = data.windows_of(int(np.searchsorted(data.rows, number)))
    row = int(windows[_checked_window(asked, len(windows))])
    (items,) = data.items(np.array([row]))
    stored = run.predictions.slice(number, 1).to_pylist()[0]
    begin, end = data.sequences.offsets[row : row + 2]
    marks = None if data.rationale is None else data.rationale[begin:end]
    reason = marks.astype(int).tolist() if marks is not None and marks.any() else None
    texts = stored["text"], stored.get("second")
    return items, make_batch(data, np.array([row])), texts, reason, len(windows)


def _own(run: Run, asked: Reference) -> Read:
    if run.has_given_weights:
        raise InputError("This model uses fixed weights for its own corpus, so it cannot read other texts.")
    if (run.kind == "pair") != (asked.second is not None):
        raise InputError(f"This model reads {'pairs: give a `second` text' if run.kind == 'pair' else 'one text'}.")
    text, second = (None if one is None else _readable(one) for one in (asked.text, asked.second))
    assert text is not None
    every = read_text(run, text, second)
    stretch = every[_checked_window(asked, len(every))]
    return stretch.items, stretch.batch, (text, second), None, len(every)


def _checked_window(asked: Reference, windows: int) -> int:
    if asked.window >= windows:
        raise InputError(f"window is {asked.window}; this text is read in {windows}, counted from 0.")
    return asked.window


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def open_runs(runs: Sequence[Run]) -> list[Opened]:
    if not 1 <= len(runs) <= 2:
        raise InputError(f"{len(runs)} runs were given; expected one or two.")
    return [Opened(run) for run in runs]
