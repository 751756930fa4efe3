"""The options that say how a corpus is read: what `attentest.load` takes."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attentest.cli.options import PAIR, chosen, flag_of, named_values, option_of
from attentest.errors import InputError
from attentest.settings import setting, settings_of

PANEL = "Corpus"
REST = "option"  # takes what has no option here


def _formats() -> Iterable[str]:
    from attentest.corpora import FORMATS

    return FORMATS


@dataclass(frozen=True)
class CorpusOptions:
    text: str | None = setting(None, "Name of the column with the texts.", otherwise="text", metavar="COLUMN")
    second: str | None = setting(
        None,
        "Name of the column with second texts (questions, hypotheses), for a corpus of pairs.",
        otherwise="",
        metavar="COLUMN",
    )
    label: str | None = setting(None, "Name of the column with the labels.", otherwise="label", metavar="COLUMN")
    target: str | None = setting(
        None,
        "Name of the column with translations, or the file that has them line by line.",
        otherwise="",
        metavar="COLUMN|FILE",
    )
    split: str | None = setting(
        None, "Name of the column that says train, dev or test.", otherwise="rows are split at random", metavar="COLUMN"
    )
    id: str | None = setting(
        None, "Name of the column with ids of the rows.", otherwise="row numbers", metavar="COLUMN"
    )
    rationale: str | None = setting(
        None, "Name of the column with a 0 or 1 for each word of the text.", otherwise="", metavar="COLUMN"
    )
    positive: str | None = setting(
        None, "Positive class of two, whose F1 is reported.", otherwise="the last", metavar="CLASS"
    )
    name: str | None = setting(
        None, "Name of the corpus in results.", otherwise="name of the file or folder", metavar="NAME"
    )
    format: str | None = setting(
        None,
        "Original layout of SOURCE, such as aclimdb or snli (see 'attentest corpora').",
        choices=_formats,
        otherwise="",
        metavar="NAME",
    )
    encoding: str = setting("utf-8", "Encoding of a text file.", metavar="NAME")
    separator: str | None = setting(
        None, "Separator of the columns of a CSV file, such as ';'.", otherwise="detected", metavar="CHARACTER"
    )
    data_dir: Path | None = setting(
        None, "Folder of the papers' benchmarks.", otherwise="the variable ATTENTEST_DATA", metavar="FOLDER"
    )
    rows: int | None = setting(None, "Size of a random sample of the rows to use.", otherwise="all rows")
    plant: float | None = setting(
        None,
        "Share of the rows (0–1) that get a new label and a made-up word that tells it, marked as their rationale.",
        above=0,
        most=1,
        otherwise="",
        metavar="SHARE",
    )
    option: tuple[str, ...] = setting(
        (),
        "Option of a named corpus or layout, such as difficulty=0.5 for planted.",
        flags=("-o", "--option"),
        otherwise="",
        metavar=PAIR,
    )


TARGET = "target"  # for translation models alone
NAMES = tuple(one.name for one in settings_of(CorpusOptions) if one.name != TARGET)


def corpus_options(*names: str) -> list[inspect.Parameter]:
    return [option_of(one, PANEL) for one in settings_of(CorpusOptions) if one.name in names]


def corpus_arguments(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `load` is called with: the options that were given, and those within -o."""
    named = [name for name in given if name in (*NAMES, TARGET) and name != REST]
    others = named_values(given.get(REST) or ())
    for name, value in others.items():
        if name in named:
            raise InputError(f"'{name}' cannot be set with -o; use {flag_of(name)} {value}.")
    return chosen(given, named), others
