"""attentest trial and trials."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import attentest
from attentest.cli.app import command
from attentest.cli.options import PAIR, AsJson, Device, Memory, Threads, named_values, offering, set_threads
from attentest.cli.streams import say, say_json
from attentest.cli.views import Dtype, Head, Weights, seen_as
from attentest.errors import InputError
from attentest.memory import most_bytes
from attentest.models.pretrained.precision import AUTO
from attentest.settings import settings_of

if TYPE_CHECKING:
    from attentest.studies.experiments.base import Experiment
    from attentest.trials.base import Trial
    from attentest.trials.finding import Finding


def _trials() -> Iterable[str]:
    from attentest.trials import TRIALS
    from attentest.trials.of_translation import OF_TRANSLATION

    return ("all", *TRIALS, *OF_TRANSLATION)


@command()
def trial(
    name: Annotated[
        str,
        Argument(help="Name of a trial ('attentest trials' lists them), or all.", autocompletion=offering(_trials)),
    ],
    run: Annotated[Path, Argument(help="Folder of a run or of an audit; a run keeps the finding in it.")],
    texts: Annotated[int | None, Option(help="Size of a random sample of the test texts to examine [all].")] = None,
    site: Annotated[
        str | None,
        Option(help="Site whose weights are examined: token; word, sentence; encoder.0, encoder.1 … [the last]."),
    ] = None,
    head: Head = None,
    weights: Weights = None,
    special: Annotated[
        bool, Option("--special", help="Count special tokens as tokens of a text (pretrained encoders).")
    ] = False,
    option: Annotated[
        list[str] | None,
        Option("-o", "--option", help="Setting of the trial, e.g. epsilon=0.05; repeatable.", metavar=PAIR),
    ] = None,
    as_json: AsJson = False,
    *,
    device: Device = "auto",
    dtype: Dtype = AUTO,
    memory: Memory = None,
    threads: Threads = None,
) -> None:
    """Run a trial on a model's attention: print the finding, and write its table, figures and settings."""
    from attentest.cli.terminal import TerminalListener
    from attentest.training.run import choose_device
    from attentest.translation.folder import is_translation_run
    from attentest.trials import TRIALS, hold, make_trial, subject_of

    if threads is not None:
        set_threads(threads)
    if name == "all" and option:
        raise InputError("-o sets options of one trial; give its name instead of 'all'.")
    if is_translation_run(run):
        views = {"site": site, "head": head, "weights": weights, "special": special, "memory": memory}
        refused = views | {"dtype": None if dtype == AUTO else dtype}
        _report(_of_translation(name, run, texts, device, named_values(option or []), refused, as_json), name, as_json)
        return
    chosen = [make_trial(one, **named_values(option or [])) for one in (TRIALS if name == "all" else [name])]
    most = most_bytes(memory)
    seen = seen_as(attentest.open_run(run), None, head, weights, special, dtype)
    subject = subject_of(seen, texts=texts, device=str(choose_device(device)), site=site, memory=most)
    if name == "all":
        chosen = [one for one in chosen if one.fits(subject)]
    with TerminalListener(quiet=as_json) as listener:
        for note in subject.data.notes:
            listener.note(note)
        findings = hold(chosen, subject, lambda done, total: listener.progress("read", done, total))
    _report(findings, name, as_json)


def _of_translation(
    name: str,
    run: Path,
    texts: int | None,
    device: str,
    settings: dict[str, Any],
    refused: dict[str, Any],
    as_json: bool,
) -> list[Finding]:
    from attentest.cli.terminal import TerminalListener
    from attentest.trials.of_translation.asked import ask, ask_all

    with TerminalListener(quiet=as_json) as listener:
        how: dict[str, Any] = {
            "texts": texts,
            "device": device,
            "watch": lambda done, total: listener.progress("translate", done, total),
            "refused": refused,
        }
        return ask_all(run, **how) if name == "all" else [ask(name, run, **how, settings=settings)]


def _report(findings: list[Finding], name: str, as_json: bool) -> None:
    if as_json:
        found = [finding.as_dict() for finding in findings]
        say_json(found if name == "all" else found[0])
        return
    for finding in findings:
        say("", f"{finding.trial}: {finding.question}", finding.answer)
        for note in finding.notes:
            say(f"  {note}")
        width = max((len(label) for label in finding.summary), default=0)
        for label, estimate in finding.summary.items():
            say(f"  {label:<{width}}  {estimate}")
        say(f"  {finding.files['finding']}")


@command()
def trials(as_json: AsJson = False) -> None:
    """List the trials and the experiments: question, paper and section, needs and settings."""
    from attentest.studies.experiments import EXPERIMENTS, experiment_class
    from attentest.trials import TRIALS, trial_class
    from attentest.trials.of_translation import OF_TRANSLATION

    lists: dict[str, dict[str, type[Trial] | type[Experiment]]] = {
        "trials": {name: trial_class(name) for name in (*TRIALS, *OF_TRANSLATION)},
        "experiments": {name: experiment_class(name) for name in EXPERIMENTS},
    }
    if as_json:
        content = {kind: {name: _about(one) for name, one in some.items()} for kind, some in lists.items()}
        say_json(content)
        return
    titles = {
        "trials": "trials, which examine one model (attentest trial NAME RUN):",
        "experiments": "experiments, which train further models (attentest study, attentest audit):",
    }
    for kind, some in lists.items():
        say(titles[kind])
        for name, one in some.items():
            say(f"{kind.removesuffix('s')}: {name}", f"  {one.question}", f"  {one.source}")
            if hasattr(one, "needs"):
                say(f"  needs {one.needs}")
            settings = [(f"{each.name}={_plain(each.default)}", each.help) for each in settings_of(one)]
            width = max((len(assigned) for assigned, _ in settings), default=0)
            say("  settings:" if settings else "  no settings")
            for assigned, help in settings:
                say(f"    {assigned:<{min(width, 30)}}  {help}")
        say("")


def _plain(default: Any) -> str:
    return ",".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _about(kind: type[Trial] | type[Experiment]) -> dict[str, Any]:
    needs = {"needs": kind.needs} if hasattr(kind, "needs") else {}
    settings = {one.name: one.default for one in settings_of(kind)}
    return {"question": kind.question, "source": kind.source, **needs, "settings": settings}
