"""A run that is looked at: opened once, read one text at a time, never written to."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import torch

from attentest.errors import InputError
from attentest.models.hierarchical import SENTENCE
from attentest.models.pretrained.explanations import EXPLANATIONS
from attentest.models.pretrained.view import View
from attentest.models.protocol import AffineModel, LayersModel, provides
from attentest.server.explorer.asked import Reference
from attentest.text.batches import Batch, make_batch
from attentest.text.items import NO_TEXT, Items
from attentest.text.prepare import TokenizedCorpus
from attentest.training.predict import device_of
from attentest.training.run import Run
from attentest.training.run_texts import read_text
from attentest.trials.instances import spans_of_sentences
from attentest.trials.reading import Reading, check_site, read
from attentest.trials.scores import SCORES, usable

KEPT = 16  # texts whose encoded states are kept


@dataclass(frozen=True)
class Looked:
    """A text as the model read it."""

    reading: Reading
    items: Items
    texts: tuple[str, str | None]
    row: int | None
    cut: int  # tokens that were not read
    rationale: list[int] | None


@dataclass
class Opened:
    run: Run
    lock: threading.RLock = field(default_factory=threading.RLock)  # around every computation
    kept: OrderedDict[Any, Looked] = field(default_factory=OrderedDict)
    seen: dict[View, tuple[Run, TokenizedCorpus]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.run.finished:
            raise InputError(f"{self.run.path} is not finished; train it to the end first.")
        self.data = self.run.test_data()
        self.run.model.eval()

    @cached_property
    def sites(self) -> list[str]:
        return list(self.run.model.sites)

    @cached_property
    def heads(self) -> dict[str, int]:
        model = self.run.model
        return dict(model.heads) if self.run.is_pretrained and provides(model, LayersModel) else {}

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
            "reads_own_texts": not run.has_given_weights,
            "sorts": ["corpus", "confidence", "label", "length"],
            "max_tokens": run.max_tokens,
        }

    def look(self, asked: Reference) -> Looked:
        """Under the lock: the text as it is read, encoded once while it is among the last asked for."""
        if asked.key in self.kept:
            self.kept.move_to_end(asked.key)
            return self.kept[asked.key]
        found = self._read(asked)
        self.kept[asked.key] = found
        while len(self.kept) > KEPT:
            self.kept.popitem(last=False)
        return found

    def _read(self, asked: Reference) -> Looked:
        if (asked.row is None) == (asked.text is None):
            raise InputError("Name a text by `row`, or give one as `text`.")
        run, data = self._seen(asked)
        site = check_site(run.model, asked.site)
        items, batch, texts, rationale = (
            self._of_row(run, data, asked.row) if asked.row is not None else self._own(run, asked)
        )
        counts = [len(run.tokenizer.tokens(one)) for one in texts[: 2 if run.tokenizer.in_pieces else 1] if one]
        cut = max(0, sum(counts) - int((items.texts != NO_TEXT).sum()))
        if site == SENTENCE and batch.sentences is not None:
            spans = spans_of_sentences(items.spans, batch.sentences[0].numpy())
            numbers = np.arange(len(spans))
            items = Items([texts[0][a:b] for a, b in spans], spans, np.zeros_like(numbers), numbers)
            rationale = None
        with torch.no_grad():
            reading = read(run.model, batch.to(device_of(run.model)), site)
        return Looked(reading, items, texts, asked.row, cut, rationale)

    def _seen(self, asked: Reference) -> tuple[Run, TokenizedCorpus]:
        view = View(asked.site if self.run.is_pretrained else None, asked.head, asked.view, asked.special)
        if view == View():
            return self.run, self.data
        if view not in self.seen:
            run = self.run.seen(view)
            self.seen[view] = run, run.test_data() if asked.special else self.data
        return self.seen[view]

    def _of_row(
        self, run: Run, data: TokenizedCorpus, number: int
    ) -> tuple[Items, Batch, tuple[str, str | None], list[int] | None]:
        if number >= run.predictions.num_rows:
            raise InputError(f"row is {number}; the test split has {run.predictions.num_rows} texts.")
        row = int(np.searchsorted(data.rows, number))
        (items,) = data.items(np.array([row]))
        stored = run.predictions.slice(number, 1).to_pylist()[0]
        begin, end = data.sequences.offsets[row : row + 2]
        marks = None if data.rationale is None else data.rationale[begin:end]
        reason = marks.astype(int).tolist() if marks is not None and marks.any() else None
        return items, make_batch(data, np.array([row])), (stored["text"], stored.get("second")), reason

    def _own(self, run: Run, asked: Reference) -> tuple[Items, Batch, tuple[str, str | None], None]:
        if run.has_given_weights:
            raise InputError("This model uses fixed weights for its own corpus, so it cannot read other texts.")
        if (run.kind == "pair") != (asked.second is not None):
            raise InputError(f"This model reads {'pairs: give a `second` text' if run.kind == 'pair' else 'one text'}.")
        text, second = (None if one is None else _readable(one) for one in (asked.text, asked.second))
        assert text is not None
        stretch = read_text(run, text, second)[0]
        return stretch.items, stretch.batch, (text, second), None


def _readable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def open_runs(runs: Sequence[Run]) -> list[Opened]:
    if not 1 <= len(runs) <= 2:
        raise InputError(f"{len(runs)} runs were given; expected one or two.")
    return [Opened(run) for run in runs]
