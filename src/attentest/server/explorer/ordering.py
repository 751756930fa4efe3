"""The texts of the test split as a list: searched and sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from attentest.errors import InputError, unknown_name
from attentest.server.explorer.opened import Opened
from attentest.training.windows import lengths_of_texts

SORTS = ("corpus", "confidence", "adversary", "disagreement", "label", "length")


class Ordering:
    def __init__(self, opened: Opened) -> None:
        table = opened.run.predictions
        self.ids = [str(one) for one in table["id"].to_pylist()]
        self.texts = table["text"].to_pylist()
        self.labels, self.predicted = table["label"].to_pylist(), table["predicted"].to_pylist()
        self.confidence = np.array([max(row) for row in table["probability"].to_pylist()])
        self.length = lengths_of_texts(opened.data)
        seconds = table["second"].to_pylist() if "second" in table.column_names else [""] * len(self.ids)
        every = zip(self.ids, self.texts, seconds, strict=True)
        self.searched = ["\n".join(parts).casefold() for parts in every]
        classes = {name: number for number, name in enumerate(opened.run.classes)}
        count = len(self.ids)
        self.by = {
            "corpus": np.arange(count),
            "confidence": self.confidence,
            "label": np.array([classes[name] for name in self.labels]),
            "length": self.length,
            "adversary": np.full(count, np.nan),
            "disagreement": np.full(count, np.nan),
        }

    def rows(self, q: str, sort: str, descending: bool, offset: int, limit: int) -> dict[str, Any]:
        if sort not in self.by:
            raise unknown_name("order", sort, SORTS)
        if offset < 0 or not 1 <= limit <= 500:
            raise InputError("offset must be at least 0, and limit between 1 and 500.")
        wanted = q.casefold()
        found = np.array([n for n, text in enumerate(self.searched) if wanted in text], np.int64)
        values = self.by[sort][found].astype(float)
        order = np.argsort(-values if descending else values, kind="stable")  # what is not known comes last
        shown = found[order][offset : offset + limit].tolist()
        known = int(np.isfinite(self.by["adversary"]).sum())
        return {
            "total": len(found),
            "offset": offset,
            "rows": [self._row(n) for n in shown],
            "ordering": {"done": known, "of": len(self.ids)},
        }

    def _row(self, n: int) -> dict[str, Any]:
        return {
            "row": n,
            "id": self.ids[n],
            "label": self.labels[n],
            "predicted": self.predicted[n],
            "confidence": float(self.confidence[n]),
            "adversary": _known(self.by["adversary"][n]),
            "disagreement": _known(self.by["disagreement"][n]),
            "tokens": int(self.length[n]),
            "start": self.texts[n][:120],
        }


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
