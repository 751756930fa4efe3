"""The texts of the test split as a list: searched and sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from attentest.errors import InputError, unknown_name
from attentest.server.explorer.examined import FIGURES, Examined
from attentest.server.explorer.opened import Opened
from attentest.training.windows import lengths_of_texts

SORTS = ("corpus", "confidence", *FIGURES, "label", "length")


class Ordering:
    def __init__(self, opened: Opened) -> None:
        table = opened.run.predictions
        self.examined = Examined(opened)
        self.ids = [str(one) for one in table["id"].to_pylist()]
        self.texts = table["text"].to_pylist()
        self.labels, self.predicted = table["label"].to_pylist(), table["predicted"].to_pylist()
        self.confidence = np.array([max(row) for row in table["probability"].to_pylist()])
        self.length = lengths_of_texts(opened.data)
        seconds = table["second"].to_pylist() if "second" in table.column_names else [""] * len(self.ids)
        every = zip(self.ids, self.labels, self.texts, seconds, strict=True)
        self.searched = ["\n".join(parts).casefold() for parts in every]
        classes = {name: number for number, name in enumerate(opened.run.classes)}
        self.by = {
            "corpus": np.arange(len(self.ids)),
            "confidence": self.confidence,
            "label": np.array([classes[name] for name in self.labels]),
            "length": self.length,
            **self.examined.values,
        }

    def about(self) -> dict[str, Any]:
        """What the texts can be sorted by, and why not by more."""
        why = dict(self.examined.why)
        return {"sorts": [name for name in SORTS if name not in why], "not_sorted": why}

    def rows(self, q: str, sort: str, descending: bool, offset: int, limit: int) -> dict[str, Any]:
        if sort not in self.by:
            raise unknown_name("order", sort, SORTS)
        if sort in self.examined.why:
            raise InputError(self.examined.why[sort])
        if offset < 0 or not 1 <= limit <= 500:
            raise InputError("offset must be at least 0, and limit between 1 and 500.")
        found = self._search(q)
        values = self.by[sort][found].astype(float)
        order = np.argsort(-values if descending else values, kind="stable")  # what is not known comes last
        shown = found[order][offset : offset + limit].tolist()
        return {
            "total": len(found),
            "offset": offset,
            "rows": [self._row(n) for n in shown],
            "ordering": self.examined.progress(sort),
        }

    def _search(self, q: str) -> np.ndarray:
        """Texts that have every word of it in their words, id or label."""
        found: list[int] | range = range(len(self.searched))
        for word in q.casefold().split():
            found = [n for n in found if word in self.searched[n]]
        return np.array(found, np.int64)

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
