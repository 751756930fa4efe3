"""attentest train, finetune and show."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import attentest
from attentest.cli.app import command
from attentest.cli.corpus_options import NAMES, TARGET, corpus_arguments, corpus_options
from attentest.cli.options import (
    MODEL,
    TRAINING,
    AsJson,
    Device,
    Threads,
    chosen,
    option_of,
    set_threads,
    with_options,
    write,
)
from attentest.cli.signals import advise
from attentest.cli.streams import say, say_json
from attentest.cli.translation import check_labelled, report, train_on_translations, translation_options
from attentest.cli.translation_maps import translation_maps
from attentest.cli.views import Dtype, ShownHead, ShownWeights, seen_as
from attentest.errors import InputError
from attentest.models.pretrained.precision import AUTO
from attentest.settings import settings_of
from attentest.training.settings import FINE_TUNING, GROUPS, known_settings

if TYPE_CHECKING:
    from attentest.display.heatmaps import Grids, Heatmaps
    from attentest.training.run import Run


OF_ENCODERS = (  # settings of `train` that mean something for a pretrained encoder
    *("max_tokens", "long", "stride"),
    *("projection", "epochs", "batch_size", "lr", "weight_decay", "warmup", "freeze_layers"),
    *("class_weights", "select_by", "patience", "seed"),
)
Source = Annotated[
    str, Argument(help="Name of a corpus, a csv, tsv, jsonl or parquet file, a folder of such files, or hf:NAME.")
]
RunFolder = Annotated[Path, Option(help="Folder of the run.")]
Overwrite = Annotated[bool, Option("--overwrite", help="Replace the run that is in that folder.")]


@command()
@with_options(
    *corpus_options(*NAMES, TARGET),
    *(option_of(one, group.capitalize()) for group, kind in GROUPS.items() for one in settings_of(kind)),
    *translation_options(),
)
def train(
    source: Source,
    out: RunFolder = Path("runs/latest"),
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    *,
    preset: Annotated[
        Path | None, Option(help="Run whose attention the projection 'preset' uses.", rich_help_panel=MODEL)
    ] = None,
    start: Annotated[
        Path | None, Option(help="Run whose parameters this one starts from.", rich_help_panel=TRAINING)
    ] = None,
    base: Annotated[
        Path | None, Option(help="Run that the objective 'adversary' imitates.", rich_help_panel=TRAINING)
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    **given: Any,
) -> None:
    """Train a model on a text corpus and test it; run the same command again to resume."""
    others = {"preset": preset, "start": start, "base": base}
    _train(attentest.train, source, out, given, device, threads, as_json, overwrite=overwrite, **others)


def _option(name: str) -> inspect.Parameter:
    """The option of a setting, with the default that it has in `finetune`."""
    group, one = known_settings()[name]
    if name in FINE_TUNING:
        one = replace(one, default=FINE_TUNING[name], about=replace(one.about, otherwise=None))
    return option_of(one, group.capitalize(), "off" if FINE_TUNING.get(name) is False else None)


@command()
@with_options(
    *corpus_options(*NAMES),
    *(_option(name) for name in OF_ENCODERS),
)
def finetune(
    source: Source,
    base: Annotated[str, Option(help="Folder or hub name of a pretrained encoder (Hugging Face).", metavar="FOLDER")],
    out: RunFolder = Path("runs/latest"),
    overwrite: Overwrite = False,
    as_json: AsJson = False,
    *,
    device: Device = "auto",
    threads: Threads = None,
    **given: Any,
) -> None:
    """Fine-tune a pretrained encoder on a text corpus and test it; run the same command again to resume."""
    _train(attentest.finetune, source, out, given, device, threads, as_json, overwrite=overwrite, base=base)


def _train(
    make: Callable[..., Run],
    source: str,
    out: Path,
    given: Mapping[str, Any],
    device: str,
    threads: int | None,
    as_json: bool,
    **others: Any,
) -> None:
    from attentest.cli.terminal import TerminalListener

    if threads is not None:
        set_threads(threads)
    with TerminalListener(quiet=as_json) as listener:
        columns, options = corpus_arguments(given)
        corpus = attentest.load(source, **columns, **options)
        if corpus.kind == "generation" and make is attentest.train:
            overwrite = others.pop("overwrite")
            how = {"device": device, "overwrite": overwrite}
            report(train_on_translations(corpus, out, given, listener, others=others, **how), as_json)
            return
        check_labelled(corpus, given)
        advise("Run the same command again to resume from the last epoch.")
        settings = chosen(given, known_settings())
        run = make(corpus, out=out, device=device, listener=listener, **others, **settings)
    if as_json:
        say_json({"run": str(run.path), "test": run.metrics, "notes": run.notes, **run.settings["corpus"]})
        return
    scores = "  ".join(f"{name} {value:.3f}" for name, value in run.metrics.items())
    say(f"test  {scores}", f"{run.path}  (look at its attention: attentest show {shlex.quote(str(run.path))})")


@command()
def show(
    runs: Annotated[
        list[Path], Argument(metavar="RUN...", help="Folder of a run or of an audit; two or more are shown together.")
    ],
    n: Annotated[int, Option("--n", "-n", help="Number of test texts, chosen at random.")] = 5,
    id: Annotated[list[str] | None, Option(help="Id of a test text to show instead; repeatable.", metavar="ID")] = None,
    wrong: Annotated[bool, Option("--wrong", help="Choose among the texts that the model gets wrong.")] = False,
    seed: Annotated[int, Option(help="Random seed for the choice of texts.")] = 0,
    text: Annotated[
        list[str] | None,
        Option(
            help="Your own text to show instead of test texts (not a column, as in train and audit); repeatable.",
            metavar="TEXT",
        ),
    ] = None,
    second: Annotated[
        list[str] | None,
        Option(help="Second text that goes with --text, for a model of pairs; repeatable.", metavar="TEXT"),
    ] = None,
    site: Annotated[
        str | None,
        Option(help="Layer of a pretrained encoder (encoder.0) or of a translation run (across.0) [the last]."),
    ] = None,
    head: ShownHead = None,
    weights: ShownWeights = None,
    html: Annotated[Path | None, Option(help="File to write a self-contained HTML page to.")] = None,
    svg: Annotated[Path | None, Option(help="File to write an SVG picture to.")] = None,
    as_json: AsJson = False,
    *,
    device: Device = "auto",
    dtype: Dtype = AUTO,
) -> None:
    """Show a model's attention as heat maps, in the terminal, as HTML or as SVG."""
    from attentest.training.run import choose_device
    from attentest.translation.folder import is_translation_run

    if any(map(is_translation_run, runs)):
        refused = {"wrong": wrong, "second": second or None, "dtype": None if dtype == AUTO else dtype}
        how: dict[str, Any] = {
            "n": n,
            "seed": seed,
            "ids": id,
            "site": site,
            "head": head,
            "weights": weights,
            "device": device,
        }
        _say_maps(translation_maps(runs, text, refused=refused, **how), html, svg, as_json)
        return
    where = choose_device(device)
    opened = [seen_as(attentest.open_run(run), site, head, weights, dtype=dtype) for run in runs]
    if where.type != "cpu":
        for run in opened:
            run.model.to(where)
    if second and not text:
        raise InputError("--second needs --text: give the first text of the pair, too.")
    if text:
        found = [run.attend(text, second, windows=len(opened) == 1) for run in opened]
    else:
        first = opened[0].heatmaps(n, ids=id, wrong=wrong, seed=seed)
        found = [first, *(run.heatmaps(ids=[one.id for one in first]) for run in opened[1:])]
    heatmaps = found[0] if len(opened) == 1 else _together(opened, found)
    _say_maps(heatmaps, html, svg, as_json)


def _say_maps(maps: Heatmaps | Grids, html: Path | None, svg: Path | None, as_json: bool) -> None:
    for path, content in ((html, maps.html), (svg, maps.svg)):
        if path is not None:
            write(path, content())
    if as_json:
        say_json([one.as_dict() for one in maps])
    elif html is None and svg is None:
        from rich.console import Console

        Console().print(maps)


def _together(runs: Sequence[Run], found: Sequence[Heatmaps]) -> Heatmaps:
    """Each text under all models, one after another."""
    from attentest.display.heatmaps import Heatmaps

    names = [run.path.name for run in runs]
    if len(set(names)) < len(names):
        names = [str(run.path) for run in runs]
    texts = [[one.text for one in maps] for maps in found]
    for run, own in zip(runs, texts, strict=True):
        if own != texts[0]:
            raise InputError(
                f"{run.path} was tested on different texts than {runs[0].path}; use --text to show both on one text."
            )
    return Heatmaps(
        [replace(one, model=name) for maps in zip(*found, strict=True) for name, one in zip(names, maps, strict=True)]
    )
