"""Charts for the browser: Vega-Lite specifications, with their data packed small."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from attentest.reports.parts.formatting import NAME, shown

FEW = 30  # rows that are not worth packing
DIGITS = 5


def packed(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification with rows as columns, strings listed once, and long names cut the same everywhere."""
    names = _short_names(spec)

    def words(text: str) -> str:
        return names.get(text, text)

    found = _rewrite(spec, words)
    assert isinstance(found, dict)
    return found


def _short_names(spec: Mapping[str, Any]) -> dict[str, str]:
    """Strings of the data that are too long or would steer the page -> what stands for them; no two are the same."""
    short: dict[str, str] = {}
    taken: set[str] = set()
    for rows in _tables(spec):
        for text in {value: None for row in rows for value in row.values() if isinstance(value, str)}:
            if text in short:
                continue
            clean = shown(text, NAME)
            unique, n = clean, 1
            while unique in taken:
                n += 1
                unique = f"{clean} ({n})"
            short[text] = unique
            taken.add(unique)
    return {text: clean for text, clean in short.items() if text != clean}


def _tables(part: Any) -> list[Sequence[Mapping[str, Any]]]:
    if isinstance(part, Mapping):
        own = [rows for key in ("values", "datasets") for rows in _rows_in(part.get(key))]
        return own + [rows for value in part.values() for rows in _tables(value)]
    if isinstance(part, list | tuple):
        return [rows for value in part if isinstance(value, Mapping) for rows in _tables(value)]
    return []


def _rows_in(value: Any) -> list[Sequence[Mapping[str, Any]]]:
    if isinstance(value, Mapping):
        return [rows for rows in value.values() if _is_rows(rows)]
    return [value] if _is_rows(value) else []


def _is_rows(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(row, Mapping) for row in value)


def _rewrite(part: Any, words: Callable[[str], str]) -> Any:
    if isinstance(part, str):
        return words(part)
    if isinstance(part, float):
        return float(f"{part:.{DIGITS}g}")
    if isinstance(part, Mapping):
        if _is_rows(part.get("values")) and len(part["values"]) > FEW:
            rest = {key: _rewrite(value, words) for key, value in part.items() if key != "values"}
            return rest | {"packed": _columns(part["values"], words)}
        return {key: _rewrite(value, words) for key, value in part.items()}
    if isinstance(part, list | tuple):
        return [_rewrite(value, words) for value in part]
    return part


def _columns(rows: Sequence[Mapping[str, Any]], words: Callable[[str], str]) -> dict[str, Any]:
    """Column -> its values, or the strings that occur and the place of each row's among them."""
    columns: dict[str, Any] = {}
    for key in {key: None for row in rows for key in row}:
        values: list[Any] = [row.get(key) for row in rows]
        if all(isinstance(value, str) for value in values):
            levels = list(dict.fromkeys(values))
            place = {level: i for i, level in enumerate(levels)}
            columns[key] = {"levels": [words(level) for level in levels], "at": [place[value] for value in values]}
        else:
            columns[key] = [_rewrite(value, words) for value in values]
    return columns
