"""Read what studies and trials left on disk; what has another form was not written by this version, and is told so."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import read_json

_NUMBER = int | float | None
_WORD = str | None
_SUMMARY = {
    **dict.fromkeys(("study", "kind", "budget"), str),
    **dict.fromkeys(("notes", "missing", "directions", "findings"), list),
    "title": _WORD,
    "rows": int | None,
    "blocks": dict,
}
_LISTED = dict.fromkeys(("block", "kind", "name", "folder"), str)
_BLOCK = {"corpus": str, "texts": int, "notes": list}
_FINDING = {
    **dict.fromkeys(("trial", "question", "answer"), str),
    **dict.fromkeys(("summary", "signature", "files"), dict),
    **dict.fromkeys(("notes", "charts"), list),
}
_ESTIMATE = {**dict.fromkeys(("value", "low", "high"), _NUMBER), "n": int}
_CHART = dict.fromkeys(("title", "description", "spec"), str)
_FORMS = (dict.fromkeys(("svg", "png"), str), {"csv": str})  # a picture or, where none could be drawn, a table


def read_summary(folder: Path) -> dict[str, Any]:
    found = read_json(folder / "summary.json")
    whole = (
        _has(found, _SUMMARY)
        and all(_has(row, _LISTED) for row in found["findings"])
        and all(_has(about, _BLOCK) for about in found["blocks"].values())
        and all(map(_is_chart, found.get("figures", [])))
    )
    if not whole:
        raise InputError(
            f"{folder} was written by an earlier version, or not by attentest; run the study again: what is in the "
            "store is not done again."
        )
    return dict(found)


def read_finding(folder: Path) -> dict[str, Any]:
    found = read_json(folder / "finding.json")
    whole = (
        _has(found, _FINDING)
        and all(_has(row, _ESTIMATE) for row in found["summary"].values())
        and all(map(_is_chart, found["charts"]))
    )
    if not whole:
        raise InputError(f"{folder / 'finding.json'} was not written by this version of attentest.")
    return dict(found)


def _is_chart(chart: Any) -> bool:
    return _has(chart, _CHART) and any(_has(chart, form) for form in _FORMS)


def read_picture(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read; its study or trial has to be run again ({error}).") from error


def _has(content: Any, kinds: Mapping[str, Any]) -> bool:
    """Whether it is an object with these entries, each of its kind."""
    return isinstance(content, dict) and all(
        name in content and isinstance(content[name], kind) for name, kind in kinds.items()
    )
