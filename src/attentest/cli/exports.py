"""attentest export."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from attentest.cli.app import command
from attentest.cli.options import offering
from attentest.cli.streams import say

FORMS = ("card", "junit", "csv")


@command()
def export(
    folder: Annotated[Path, Argument(help="Folder of an audit, a comparison, a study or a run.")],
    to: Annotated[
        str,
        Option(
            help="Form: a section of a model card, JUnit XML for CI, or a table of all tests.",
            metavar="|".join(FORMS),
            autocompletion=offering(FORMS),
        ),
    ],
    out: Annotated[Path | None, Option(help="File to write to [standard output].")] = None,
) -> None:
    """Export verdicts: a section of a Hugging Face model card, JUnit XML for CI, or CSV; nothing is run."""
    from attentest.exports.export import export as write

    written = write(folder, to, out)
    if isinstance(written, Path):
        say(written)
    else:
        print(written, end="")
