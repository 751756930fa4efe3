"""A text with its weights, and a handful of them that know how to show themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from attentest.display.heatmaps.colour import strength
from attentest.display.heatmaps.pictures import Pictures
from attentest.display.show import to_pandas

if TYPE_CHECKING:
    from rich.console import RenderableType

Span = tuple[int, int]
BETWEEN = "\n» "  # the two texts of a pair that both have weights


@dataclass(frozen=True)
class Heatmap:
    """Weights over the words of one text, whose places in it are `spans`. Where both texts of a pair have weights, the
    last `in_second` words are of the second text, and so are their places."""

    id: str
    text: str
    spans: Sequence[Span]
    weights: Sequence[float]
    classes: Sequence[str]
    probabilities: Sequence[float]
    label: str | None = None
    rationale: Sequence[int] | None = None
    second: str | None = None  # the other text of a pair
    shown: str = "weight"  # what the weights are
    unknown: Sequence[bool] | None = None  # tokens that the model's vocabulary does not have
    model: str | None = None  # whose weights these are, where several models are shown
    in_second: int = 0

    @cached_property
    def shown_text(self) -> str:
        """All that has weights: the text, or both texts of a pair."""
        return self._joined[0]

    @cached_property
    def places(self) -> Sequence[Span]:
        """Where the words are in `shown_text`."""
        return self._joined[1]

    @cached_property
    def _joined(self) -> tuple[str, Sequence[Span]]:
        if self.second is None or not self.in_second:
            return self.text, self.spans
        return joined(self.text, self.second, self.spans, self.in_second)

    @property
    def words(self) -> list[str]:
        return [self.shown_text[start:end] for start, end in self.places]

    @property
    def second_alone(self) -> str | None:
        """The other text of a pair, if it has no weights."""
        return None if self.in_second else self.second

    @property
    def predicted(self) -> str:
        return self.classes[max(range(len(self.classes)), key=self.probabilities.__getitem__)]

    @property
    def confidence(self) -> float:
        return max(self.probabilities)

    @property
    def strengths(self) -> list[float]:
        """What colours show: the same of a weight in every map."""
        return [strength(weight) for weight in self.weights]

    def as_dict(self) -> dict[str, Any]:
        """For machines: the tokens as they stand in the text, with their weights."""
        return {
            "id": self.id,
            **({} if self.model is None else {"model": self.model}),
            "text": self.text,
            **({} if self.second is None else {"second": self.second}),
            "label": self.label,
            "predicted": self.predicted,
            "probabilities": dict(zip(self.classes, self.probabilities, strict=True)),
            "tokens": self.words,
            "weights": list(self.weights),
            **({"in_second": self.in_second} if self.in_second else {}),
            "shown": self.shown,
            **({} if self.unknown is None else {"unknown": list(self.unknown)}),
        }

    @property
    def title(self) -> str:
        """The text's id, and whose weights it has where that is not clear."""
        return self.id if self.model is None else f"{self.id}  {self.model}"

    def is_unknown(self, token: int) -> bool:
        return self.unknown is not None and bool(self.unknown[token])

    @property
    def unknown_words(self) -> list[str]:
        """Each once, in the order of the text."""
        return list(dict.fromkeys(word for i, word in enumerate(self.words) if self.is_unknown(i)))

    @property
    def legend(self) -> str:
        """What stands before the heaviest words."""
        return "heaviest" if self.shown == "weight" else f"heaviest ({self.shown})"

    def heaviest(self, n: int = 3) -> list[tuple[str, float]]:
        order = sorted(range(len(self.weights)), key=lambda i: -self.weights[i])[:n]
        words = self.words
        return [(words[i], self.weights[i]) for i in order]

    def window(self, tokens: int) -> tuple[int, int]:
        return window(self.weights, tokens)


def joined(text: str, second: str, spans: Sequence[Span], in_second: int) -> tuple[str, list[Span]]:
    """Both texts of a pair as one, the first as far as it was read, and the places of all words in it."""
    first, rest = spans[: len(spans) - in_second], spans[len(spans) - in_second :]
    end = first[-1][1] if first else 0
    before = text[:end] + (" …" if text[end:].strip() else "") + BETWEEN
    return before + second, [*first, *((a + len(before), b + len(before)) for a, b in rest)]


def window(weights: Sequence[float], tokens: int) -> tuple[int, int]:
    """The stretch of at most `tokens` tokens that holds the most weight."""
    if len(weights) <= tokens:
        return 0, len(weights)
    total = sum(weights[:tokens])
    best, start = total, 0
    for i in range(tokens, len(weights)):
        total += weights[i] - weights[i - tokens]
        if total > best + 1e-12:
            best, start = total, i - tokens + 1
    return start, start + tokens


class Heatmaps(Pictures[Heatmap]):
    """Heat maps that render in a notebook, print in a terminal, and save as HTML or SVG."""

    def html(self) -> str:
        from attentest.display.heatmaps.html import page

        return page(self)

    def svg(self) -> str:
        from attentest.display.heatmaps.svg import picture

        return picture(self)

    def __rich__(self) -> RenderableType:
        from attentest.display.heatmaps.terminal import render

        return render(self)

    def _repr_html_(self) -> str:
        from attentest.display.heatmaps.html import fragment

        return fragment(self)

    def __repr__(self) -> str:
        return f"Heatmaps of {len(self)} texts"

    def to_pandas(self) -> Any:
        """One row for each token: text, token, weight."""
        import pyarrow as pa

        rows = [
            {"id": heatmap.id, "token": word, "weight": weight, "predicted": heatmap.predicted}
            for heatmap in self
            for word, weight in zip(heatmap.words, heatmap.weights, strict=True)
        ]
        return to_pandas(pa.Table.from_pylist(rows))
