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
from attentest.cli.compared import as_json as scores_as_json
from attentest.cli.compared import check_page, say_compared, scores_of, written
from attentest.cli.options import AsJson, Device, Threads, chosen, option_of, set_threads, with_options, write
from attentest.cli.signals import advise
from attentest.cli.streams import say, say_json
from attentest.errors import InputError, brief
from attentest.settings import settings_of
from attentest.training.settings import known_settings
from attentest.translation.settings import ONLY_FOR, OtherWeights, Search, TranslationModel, translation_settings

if TYPE_CHECKING:
    from attentest.corpora.corpus import Corpus
    from attentest.progress import Listener
    from attentest.translation.run import TranslationRun

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
    asked = chosen(given, known)
    model = asked.get("model", TranslationModel.model)
    for name in asked:
        if model not in ONLY_FOR.get(name, (model,)):
            raise InputError(
                f"`{name}` is for the model {' or '.join(ONLY_FOR[name])}, and this one is {model}; leave it out."
            )
    return attentest.train_translation(corpus, out, listener=listener, **how, **asked)


def report(run: TranslationRun, as_json: bool) -> None:
    """What was reached on the test split, and how it was measured."""
    if as_json:
        say_json({"run": str(run.path), "test": run.metrics, "signatures": run.signatures, "notes": run.notes})
        return
    say(f"test  {written(run.metrics)}", *(f"{name}: {said}" for name, said in run.signatures.items()))
    say(f"{run.path}  (use it: attentest translate {shlex.quote(str(run.path))} --text TEXT)")


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
    encoding: Annotated[str, Option(help="Encoding of --file and --reference.", metavar="NAME")] = "utf-8",
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
    from attentest.cli.terminal import TerminalListener
    from attentest.translation.given import read_given

    if threads is not None:
        set_threads(threads)
    if compare:
        check_page(out)
        if more["weights"] is not None or given is not None:
            raise InputError("`compare` translates with all kinds of weights; leave out `weights` and `given`.")
    _check_out(out, file, reference, given)
    opened = attentest.open_translation(run)
    sources, references = _texts(opened, text, file, test, reference, encoding)
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
            compared = opened.compare(texts, **how)
            scores = {}
            if references is not None:
                kinds = {name: [one.translations[name] for one in compared] for name in compared[0].translations}
                every = {name: _all_lines(len(sources), filled, found) for name, found in kinds.items()}
                scores = {name: scores_of(opened, lines, references) for name, lines in every.items()}
            say_compared(compared, scores, out, listener.notes if as_json else None)
            return
        weights = read_given(given) if given is not None else ()
        found = opened.translate(texts, given=weights, with_weights=as_json, **how)
    lines = _all_lines(len(sources), filled, [one.text for one in found])
    reached = scores_of(opened, lines, references)
    if out is not None:
        write(out, "".join(f"{line}\n" for line in lines))
    if as_json:
        translations = [{"line": place + 1, **one.as_dict()} for place, one in zip(filled, found, strict=True)]
        say_json({"translations": translations, "scores": scores_as_json(reached), "notes": listener.notes})
        return
    if out is None and not reached:
        say(*lines)
    if reached:
        say(written({name: one.value for name, one in reached.items()}))
        say(*(f"{name}: {one.signature}" for name, one in reached.items()))


def _check_out(out: Path | None, *inputs: Path | None) -> None:
    """What is read must not be written over."""
    for one in inputs:
        if out is not None and one is not None and out.resolve() == one.resolve():
            raise InputError(f"{out} is an input; choose another file as `out`.")


def _all_lines(count: int, filled: Sequence[int], found: Sequence[str]) -> list[str]:
    """With the empty ones in their places."""
    by_place = dict(zip(filled, found, strict=True))
    return [by_place.get(place, "") for place in range(count)]


def _texts(
    run: TranslationRun,
    text: Sequence[str] | None,
    file: Path | None,
    test: bool,
    reference: Path | None,
    encoding: str,
) -> tuple[list[str], list[str] | None]:
    """What is to be translated, and the right translations if they are known."""
    from attentest.corpora.encodings import check_name
    from attentest.corpora.parallel import read_lines

    check_name(encoding)
    if sum((bool(text), file is not None, test)) != 1:
        raise InputError("Give what to translate in one way: `text`, `file` or `test`.")
    if test:
        if reference is not None:
            raise InputError("The run has the right translations of its test split; leave out `reference`.")
        table = run.translations
        return table["source"].to_pylist(), table["reference"].to_pylist()
    sources = read_lines(file, encoding) if file is not None else list(text or ())
    if not sources:
        raise InputError(f"{file} has no lines.")
    if reference is None:
        return sources, None
    references = read_lines(reference, encoding)
    if len(references) != len(sources):
        raise InputError(
            f"{brief(str(reference))} has {len(references):,} lines for {len(sources):,} texts; give one for each."
        )
    return sources, references
