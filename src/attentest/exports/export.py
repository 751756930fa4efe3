"""The verdicts of a folder in a form that other programs read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from attentest.errors import InputError, unknown_name
from attentest.exports.card import card
from attentest.exports.junit import junit
from attentest.exports.table import table
from attentest.files import check_target, make_folder, write_bytes
from attentest.reports.contents import Block, Report
from attentest.reports.result import Page, folder_of
from attentest.reports.write import read_report
from attentest.studies.run_study import StudyResult
from attentest.training.run import Run

FORMS: Mapping[str, Callable[[Report, Sequence[Block]], str]] = {"card": card, "junit": junit, "csv": table}


def export(folder: str | Path | Run | Page | StudyResult, to: str, out: str | Path | None = None) -> str | Path:
    """The verdicts of an audit, a comparison, a study or a run: a model card, JUnit XML or CSV; nothing is run again.

    `to` is card, junit or csv. Gives the text, or with `out` the file that it was written to. The folder stays as it
    is, and is judged by the thresholds that it was last judged by.
    """
    if to not in FORMS:
        raise unknown_name("form of export", to, FORMS)
    target = None if out is None else Path(out)
    if target is not None:
        check_target(target)
    place = folder_of(folder)
    report = read_report(place)
    blocks = [block for block in report.blocks if block.verdicts]
    if not blocks:
        raise InputError(f"{place} has no verdicts to export: they come from trials of a model.")
    text = FORMS[to](report, blocks)
    if target is None:
        return text
    make_folder(target.parent)
    write_bytes(target, text.encode())
    return target
