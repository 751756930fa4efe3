"""attentest translate, and the training of translation models."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

import attentest
from attentest.cli.app import command
from attentest.cli.options import AsJson, Device, Threads, chosen, option_of, set_threads, with_options, write
from attentest.cli.signals import advise
from attentest.cli.streams import say, say_json
from attentest.errors import InputError, brief
from attentest.settings import settings_of
from attentest.training.settings import known_settings
from attentest.translation.settings import OtherWeights, Search, translation_settings

if TYPE_CHECKING:
    from attentest.corpora.corpus import Corpus
    from attentest.progress import Listener
    from attentest.translation.run import Translation, TranslationRun

TRANSLATION = "Translation models"
WEIGHTS, SEARCH = "Weights", "Search"


def translation_options() -> list[inspect.Parameter]:
    """The settings of translation models for which models of labels have no option of that name."""
    shared = known_settings()
    return [option_of(one, TRANSLATION) for name, (_, one) in translation_settings().items() if name not in shared]


def check_labelled(corpus: Corpus, given: Mapping[str, Any]) -> None:
    """Refuse options of translation models for a corpus of texts with labels."""
    for name in chosen(given, translation_settings().keys() - known_settings().keys()):
        raise InputError(f"`{name}` is for translation models, and {corpus.name} has labels; leave it out.")


def train_on_translations(
    corpus: Corpus, out: Path, given: Mapping[str, Any], listener: Listener, *, others: Mapping[str, Any], **how: Any
) -> TranslationRun:
    """`others` are options of the command that translation models do not have."""
    advise("Run the same command again to resume from the last epoch.")
    known = translation_settings()
    refused = chosen(given, known_settings().keys() - known.keys())
    for name in (*refused, *(name for name, value in others.items() if value is not None)):
        raise InputError(
            f"`{name}` is for models of texts with labels, and {corpus.name} has translations; leave it out."
        )
    return attentest.train_translation(corpus, out, listener=listener, **how, **chosen(given, known))


def report(run: TranslationRun, as_json: bool) -> None:
    """What was reached on the test split, and how it was measured."""
    if as_json:
        say_json({"run": str(run.path), "test": run.metrics, "signatures": run.signatures, "notes": run.notes})
        return
    say(f"test  {_written(run.metrics)}", *(f"{name}: {said}" for name, said in run.signatures.items()))
    say(f"{run.path}  (use it: attentest translate {shlex.quote(str(run.path))} --text TEXT)")


def _written(scores: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.2f}" for name, value in scores.items())


@command()
@with_options(
    *(option_of(one, WEIGHTS) for one in settings_of(OtherWeights)),
    *(option_of(one, SEARCH) for one in settings_of(Search)),
)
def translate(
    run: Annotated[Path, Argument(help="Folder of a translation run.")],
    text: Annotated[list[str] | None, Option(help="Text to translate; repeatable.", metavar="TEXT")] = None,
    file: Annotated[Path | None, Option(help="File of texts to translate, one in each line.")] = None,
    test: Annotated[bool, Option("--test", help="Translate the test split that is in the run, and score it.")] = False,
    reference: Annotated[
        Path | None, Option(help="File of right translations, one in each line, to score against.")
    ] = None,
    out: Annotated[Path | None, Option(help="File to write the translations to, one in each line.")] = None,
    as_json: AsJson = False,
    *,
    compare: Annotated[
        bool,
        Option(
            "--compare",
            help="Show each translation with the own, uniform, random, permuted and dropped weights; --out is a page.",
            rich_help_panel=WEIGHTS,
        ),
    ] = False,
    given: Annotated[
        Path | None,
        Option(
            help="File with the weights for --weights given: what --json printed.",
            rich_help_panel=WEIGHTS,
            metavar="FILE",
        ),
    ] = None,
    device: Device = "auto",
    threads: Threads = None,
    **more: Any,
) -> None:
    """Translate with a trained model, if you like with other attention weights at every step."""
    from attentest.cli.compared import check_page, say_compared
    from attentest.cli.terminal import TerminalListener
    from attentest.translation.given import read_given

    if threads is not None:
        set_threads(threads)
    if compare:
        check_page(out)
        if more["weights"] is not None or given is not None:
            raise InputError("`compare` translates with all kinds of weights; leave out `weights` and `given`.")
    opened = attentest.open_translation(run)
    sources, references = _texts(opened, text, file, test, reference)
    filled = [place for place, one in enumerate(sources) if one.strip()]
    if not filled:
        raise InputError("All texts are empty; there is nothing to translate.")
    with TerminalListener(quiet=as_json) as listener:
        if len(filled) < len(sources):
            listener.note(
                f"{len(sources) - len(filled):,} of {len(sources):,} lines are empty, and so are their translations."
            )
        texts = [sources[place] for place in filled]
        how: dict[str, Any] = {"device": device, "listener": listener}
        how |= chosen(more, (one.name for kind in (OtherWeights, Search) for one in settings_of(kind)))
        if compare:
            rights = None if references is None else [references[place] for place in filled]
            say_compared(opened, opened.compare(texts, **how), rights, out, as_json)
            return
        weights = read_given(given) if given is not None else ()
        found = opened.translate(texts, given=weights, with_weights=as_json, **how)
    by_place = dict(zip(filled, found, strict=True))
    lines = [by_place[place].text if place in by_place else "" for place in range(len(sources))]
    _show(opened, lines, [by_place[place] for place in filled], references, out, as_json)


def _show(
    run: TranslationRun,
    lines: Sequence[str],
    found: Sequence[Translation],
    references: Sequence[str] | None,
    out: Path | None,
    as_json: bool,
) -> None:
    scores = {}
    if references is not None:
        from attentest.translation.scores import bleu, chrf

        lower = run.record.text.lower
        scores = {"bleu": bleu(lines, references, lower=lower), "chrf": chrf(lines, references, lower=lower)}
    if out is not None:
        write(out, "".join(f"{line}\n" for line in lines))
    if as_json:
        scored = {name: {"value": one.value, "signature": one.signature} for name, one in scores.items()}
        say_json({"translations": [one.as_dict() for one in found], "scores": scored})
        return
    if out is None and not scores:
        say(*lines)
    if scores:
        say(_written({name: one.value for name, one in scores.items()}))
        say(*(f"{name}: {one.signature}" for name, one in scores.items()))


def _texts(
    run: TranslationRun, text: Sequence[str] | None, file: Path | None, test: bool, reference: Path | None
) -> tuple[list[str], list[str] | None]:
    """What is to be translated, and the right translations if they are known."""
    from attentest.corpora.parallel import read_lines

    if sum((bool(text), file is not None, test)) != 1:
        raise InputError("Give what to translate in one way: `text`, `file` or `test`.")
    if test:
        if reference is not None:
            raise InputError("The run has the right translations of its test split; leave out `reference`.")
        table = run.translations
        return table["source"].to_pylist(), table["reference"].to_pylist()
    sources = read_lines(file, "utf-8") if file is not None else list(text or ())
    if not sources:
        raise InputError(f"{file} has no lines.")
    if reference is None:
        return sources, None
    references = read_lines(reference, "utf-8")
    if len(references) != len(sources):
        raise InputError(
            f"{brief(str(reference))} has {len(references):,} lines for {len(sources):,} texts; give one for each."
        )
    return sources, references
