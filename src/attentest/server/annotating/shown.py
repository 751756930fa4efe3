"""An item as annotators see it: made of what is named here, so that nothing else of it ever leaves the server."""

from __future__ import annotations

from dataclasses import dataclass

from attentest.people.study import Item


@dataclass(frozen=True)
class Shown:
    """`texts` has one text, or two of a pair; each is cut into what stands before a word, the word, and so on to its
    end, so that words have odd places. `marked` are numbers of words, counted over both texts."""

    id: str
    texts: list[list[str]]
    marked: list[int]
    predicted: str


def shown(item: Item) -> Shown:
    first = len(item.start) - item.in_second
    places = list(zip(item.start, item.end, strict=True))
    texts = [_cut(item.text, places[:first])]
    if item.second is not None:
        texts.append(_cut(item.second, places[first:]))
    return Shown(item.id, texts, sorted(item.marked), item.predicted)


def _cut(text: str, places: list[tuple[int, int]]) -> list[str]:
    pieces, at = [], 0
    for start, end in places:
        start = max(start, at)
        pieces += [text[at:start], text[start:end]]
        at = max(start, end)
    return [*pieces, text[at:]]
