"""Options that several commands have, and what is made of what the user wrote."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Container
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Option

from attentest.errors import InputError

CORPUS, TEXT, MODEL, TRAINING = "Corpus", "Text", "Model", "Training"

AsJson = Annotated[bool, Option("--json", help="Print one JSON object instead.")]
Threads = Annotated[int | None, Option(help="CPU threads [all cores].")]
Device = Annotated[str, Option(help="auto, cpu or cuda.")]

TextColumn = Annotated[str | None, Option(help="Column of the texts [text].", rich_help_panel=CORPUS)]
SecondColumn = Annotated[
    str | None, Option(help="Column of a second text: a question, a hypothesis.", rich_help_panel=CORPUS)
]
LabelColumn = Annotated[str | None, Option(help="Column of the labels [label].", rich_help_panel=CORPUS)]
SplitColumn = Annotated[str | None, Option(help="Column that says train, dev or test.", rich_help_panel=CORPUS)]
IdColumn = Annotated[str | None, Option(help="Column of the ids.", rich_help_panel=CORPUS)]
RationaleColumn = Annotated[
    str | None, Option(help="Column with a 0/1 for each word of the text.", rich_help_panel=CORPUS)
]
Positive = Annotated[str | None, Option(help="The positive one of two classes [the last].", rich_help_panel=CORPUS)]
Format = Annotated[
    str | None,
    Option(help="The original layout that SOURCE is in; see 'attentest corpora'.", rich_help_panel=CORPUS),
]
Encoding = Annotated[str, Option(help="Encoding of a text file.", rich_help_panel=CORPUS)]
DataDir = Annotated[Path | None, Option(help="Folder of the benchmarks [ATTENTEST_DATA].", rich_help_panel=CORPUS)]
Rows = Annotated[int | None, Option(help="Take a random sample of this many rows.", rich_help_panel=CORPUS)]
CorpusOptions = Annotated[
    list[str] | None,
    Option("-o", "--option", help="NAME=VALUE for the corpus, e.g. difficulty=0.5.", rich_help_panel=CORPUS),
]


def corpus_options(pairs: list[str], named: Container[str]) -> dict[str, Any]:
    options = named_values(pairs)
    for name, value in options.items():
        if name in named:
            raise InputError(f"'{name}' has an option of its own: --{name.replace('_', '-')} {value}.")
    return options


def named_values(pairs: list[str]) -> dict[str, Any]:
    options: dict[str, Any] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"The option '{pair}' is not of the form NAME=VALUE.")
        try:
            options[name] = json.loads(value)
        except ValueError:
            options[name] = value
    return options


def stoppable(work: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    try:
        return work(*arguments, **settings)
    except KeyboardInterrupt:
        print("attentest: stopped. Started again, the training goes on from its last epoch.", file=sys.stderr)
        raise typer.Exit(130) from None


def set_threads(threads: int) -> None:
    if not 1 <= threads <= 1024:
        raise InputError(f"threads is {threads}; it must lie between 1 and 1024.")
    import torch

    torch.set_num_threads(threads)


def write(path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
    print(path)
