"""The command line: parse, call, print. What does the work is imported when it is needed."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Container
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

import attentest
from attentest.errors import InputError

app = typer.Typer(
    name="attentest",
    help="Can this model's attention be trusted as an explanation, and in which sense?",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

AsJson = Annotated[bool, Option("--json", help="Print one JSON object instead.")]


def main() -> None:
    """Run the command line; what the user can mend is a sentence and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        # a terminal that cannot write √ or an emoji gets a ? for it
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        app()
    except InputError as error:
        print(f"attentest: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(0)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"attentest {attentest.__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[bool, Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    pass


CORPUS, TEXT, MODEL, TRAINING = "Corpus", "Text", "Model", "Training"


@app.command()
def train(
    source: Annotated[
        str,
        Argument(help="A corpus's name, a csv, tsv, jsonl or parquet file, a folder of them, or hf:NAME."),
    ],
    out: Annotated[Path, Option(help="The run's folder.")] = Path("runs/latest"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace another run in that folder.")] = False,
    text: Annotated[str | None, Option(help="Column of the texts [text].", rich_help_panel=CORPUS)] = None,
    second: Annotated[
        str | None, Option(help="Column of a second text: a question, a hypothesis.", rich_help_panel=CORPUS)
    ] = None,
    label: Annotated[str | None, Option(help="Column of the labels [label].", rich_help_panel=CORPUS)] = None,
    split: Annotated[str | None, Option(help="Column that says train, dev or test.", rich_help_panel=CORPUS)] = None,
    id: Annotated[str | None, Option(help="Column of the ids.", rich_help_panel=CORPUS)] = None,
    rationale: Annotated[
        str | None, Option(help="Column with a 0/1 for each word of the text.", rich_help_panel=CORPUS)
    ] = None,
    positive: Annotated[
        str | None, Option(help="The positive one of two classes [the last].", rich_help_panel=CORPUS)
    ] = None,
    format: Annotated[
        str | None,
        Option(help="The original layout that SOURCE is in; see 'attentest corpora'.", rich_help_panel=CORPUS),
    ] = None,
    encoding: Annotated[str, Option(help="Encoding of a text file.", rich_help_panel=CORPUS)] = "utf-8",
    data_dir: Annotated[
        Path | None, Option(help="Folder of the benchmarks [ATTENTEST_DATA].", rich_help_panel=CORPUS)
    ] = None,
    rows: Annotated[int | None, Option(help="Take a random sample of this many rows.", rich_help_panel=CORPUS)] = None,
    option: Annotated[
        list[str] | None,
        Option("-o", "--option", help="NAME=VALUE for the corpus, e.g. difficulty=0.5.", rich_help_panel=CORPUS),
    ] = None,
    tokenizer: Annotated[str | None, Option(help="word or whitespace.", rich_help_panel=TEXT)] = None,
    lower: Annotated[bool | None, Option("--lower/--keep-case", help="Lower-case.", rich_help_panel=TEXT)] = None,
    digits: Annotated[
        str | None, Option(help="keep, or qqq: tokens with a digit become qqq.", rich_help_panel=TEXT)
    ] = None,
    min_frequency: Annotated[
        int | None, Option(help="Rarer training tokens are unknown [1].", rich_help_panel=TEXT)
    ] = None,
    min_tokens: Annotated[int | None, Option(help="Shorter texts are dropped [1].", rich_help_panel=TEXT)] = None,
    max_tokens: Annotated[
        int | None, Option(help="Longer texts are cut or dropped [1000].", rich_help_panel=TEXT)
    ] = None,
    long: Annotated[str | None, Option(help="What to do with them: cut or drop.", rich_help_panel=TEXT)] = None,
    vectors: Annotated[
        str | None,
        Option(help="random, glove-6b-50d, or a GloVe/word2vec text file [random].", rich_help_panel=TEXT),
    ] = None,
    dimension: Annotated[int | None, Option(help="Size of random vectors [300].", rich_help_panel=TEXT)] = None,
    encoder: Annotated[str, Option(help="See 'attentest models'.", rich_help_panel=MODEL)] = "bilstm",
    alignment: Annotated[str, Option(help="See 'attentest models'.", rich_help_panel=MODEL)] = "additive",
    projection: Annotated[
        str, Option(help="See 'attentest models'; NAME:PARAMETER sets its parameter.", rich_help_panel=MODEL)
    ] = "softmax",
    hidden: Annotated[int, Option(help="Size of the states (a direction).", rich_help_panel=MODEL)] = 128,
    self_projection: Annotated[
        str, Option(help="Projection of the Transformer's own attention.", rich_help_panel=MODEL)
    ] = "softmax",
    structure: Annotated[
        str, Option(help="flat, or hierarchical: words, then sentences (HAN).", rich_help_panel=MODEL)
    ] = "flat",
    pairing: Annotated[
        str, Option(help="How the two texts of a pair are read: independent or conditional.", rich_help_panel=MODEL)
    ] = "independent",
    decoder: Annotated[
        str, Option(help="What a model of pairs decides by: context or context+query.", rich_help_panel=MODEL)
    ] = "context",
    preset: Annotated[
        Path | None, Option(help="Run whose attention the projection 'preset' uses.", rich_help_panel=MODEL)
    ] = None,
    epochs: Annotated[int, Option(rich_help_panel=TRAINING)] = 8,
    batch_size: Annotated[int, Option(rich_help_panel=TRAINING)] = 32,
    lr: Annotated[float, Option(help="Learning rate.", rich_help_panel=TRAINING)] = 1e-3,
    attention_lr: Annotated[
        float | None, Option(help="Of the attention parameters [lr].", rich_help_panel=TRAINING)
    ] = None,
    weight_decay: Annotated[
        float, Option(help="On all but the attention parameters.", rich_help_panel=TRAINING)
    ] = 1e-5,
    class_weights: Annotated[
        bool, Option(help="Weigh classes by their rarity (not answers to questions).", rich_help_panel=TRAINING)
    ] = True,
    select_by: Annotated[
        str,
        Option(help="What chooses the epoch: auc, f1, accuracy, or loss (of the training).", rich_help_panel=TRAINING),
    ] = "auc",
    patience: Annotated[
        int | None, Option(help="Stop after so many epochs without a better one.", rich_help_panel=TRAINING)
    ] = None,
    start: Annotated[
        Path | None, Option(help="Run whose parameters this one starts from.", rich_help_panel=TRAINING)
    ] = None,
    take: Annotated[
        list[str] | None,
        Option(help="Only this part of it: embedding, encoder, alignment or decoder.", rich_help_panel=TRAINING),
    ] = None,
    freeze: Annotated[
        list[str] | None, Option(help="A part that stays as it is; may be repeated.", rich_help_panel=TRAINING)
    ] = None,
    objective: Annotated[
        str, Option(help="labels, or adversary: --base's predictions under other weights.", rich_help_panel=TRAINING)
    ] = "labels",
    base: Annotated[Path | None, Option(help="Run that an adversary imitates.", rich_help_panel=TRAINING)] = None,
    strength: Annotated[float, Option(help="λ of the adversary.", rich_help_panel=TRAINING)] = 0.001,
    train_vectors: Annotated[
        bool,
        Option("--train-vectors/--freeze-vectors", help="Fine-tune the vectors.", rich_help_panel=TRAINING),
    ] = True,
    seed: Annotated[int, Option(help="Of weights, order and noise.", rich_help_panel=TRAINING)] = 0,
    device: Annotated[str, Option(help="auto, cpu or cuda.", rich_help_panel=TRAINING)] = "auto",
    threads: Annotated[int | None, Option(help="CPU threads [all cores].", rich_help_panel=TRAINING)] = None,
    as_json: AsJson = False,
) -> None:
    """Train a model on a text corpus and test it; run it again after a kill and it goes on."""
    from attentest.progress import TerminalListener

    if threads is not None:
        _set_threads(threads)
    with TerminalListener(quiet=as_json) as listener:
        named: dict[str, Any] = {
            "text": text, "second": second, "label": label, "split": split, "id": id, "rationale": rationale,
            "positive": positive, "format": format, "encoding": encoding, "data_dir": data_dir, "rows": rows,
        }  # fmt: skip
        corpus = attentest.load(source, **named, **_corpus_options(option or [], named))
        text_settings = {
            "tokenizer": tokenizer, "lower": lower, "digits": digits, "min_frequency": min_frequency,
            "min_tokens": min_tokens, "max_tokens": max_tokens, "long": long, "vectors": vectors,
            "dimension": dimension,
        }  # fmt: skip
        run = _stoppable(
            attentest.train,
            corpus,
            out,
            device=device,
            overwrite=overwrite,
            preset=preset, start=start, base=base,
            listener=listener,
            encoder=encoder, alignment=alignment, projection=projection, hidden=hidden,
            self_projection=self_projection, structure=structure, pairing=pairing, decoder=decoder,
            epochs=epochs, batch_size=batch_size, lr=lr,
            attention_lr=attention_lr, weight_decay=weight_decay, class_weights=class_weights,
            select_by=select_by, train_vectors=train_vectors, seed=seed, patience=patience,
            take=tuple(take or ()), freeze=tuple(freeze or ()), objective=objective, strength=strength,
            **{name: value for name, value in text_settings.items() if value is not None},
        )  # fmt: skip
    if as_json:
        test = {name: None if math.isnan(value) else value for name, value in run.metrics.items()}
        print(json.dumps({"run": str(run.path), "test": test, "notes": run.notes, **run.settings["corpus"]}))
        return
    scores = "  ".join(f"{name} {value:.3f}" for name, value in run.metrics.items())
    print(f"test  {scores}\n{run.path}  (look at its attention: attentest show {run.path})")


@app.command()
def show(
    run: Annotated[Path, Argument(help="The run's folder.")],
    n: Annotated[int, Option("--n", "-n", help="How many test texts.")] = 5,
    id: Annotated[list[str] | None, Option(help="A test text with this id; may be repeated.")] = None,
    wrong: Annotated[bool, Option("--wrong", help="Only texts that the model gets wrong.")] = False,
    seed: Annotated[int, Option(help="Of the random choice.")] = 0,
    text: Annotated[list[str] | None, Option(help="A text of your own instead; may be repeated.")] = None,
    second: Annotated[list[str] | None, Option(help="The second text that goes with it, for a model of pairs.")] = None,
    html: Annotated[Path | None, Option(help="Write a page here.")] = None,
    svg: Annotated[Path | None, Option(help="Write a picture here.")] = None,
    as_json: AsJson = False,
) -> None:
    """Heat maps of a run's attention, in the terminal or as HTML or SVG."""
    opened = attentest.open_run(run)
    if second and not text:
        raise InputError("A second text goes with a text; give --text, too.")
    heatmaps = opened.attend(text, second) if text else opened.heatmaps(n, ids=id, wrong=wrong, seed=seed)
    for path, content in ((html, heatmaps.html), (svg, heatmaps.svg)):
        if path is not None:
            _write(path, content())
    if as_json:
        print(json.dumps([heatmap.as_dict() for heatmap in heatmaps], ensure_ascii=False))
    elif html is None and svg is None:
        from rich.console import Console

        Console().print(heatmaps)


@app.command()
def trial(
    name: Annotated[str, Argument(help="A trial's name (see 'attentest trials'), or all.")],
    run: Annotated[Path, Argument(help="The run's folder; findings are written into its trials folder.")],
    texts: Annotated[int | None, Option(help="Examine a random sample of this many test texts.")] = None,
    site: Annotated[
        str | None, Option(help="Whose weights are examined: token; word or sentence of a hierarchical model.")
    ] = None,
    option: Annotated[
        list[str] | None, Option("-o", "--option", help="NAME=VALUE for the trial, e.g. epsilon=0.05.")
    ] = None,
    device: Annotated[str, Option(help="auto, cpu or cuda.")] = "auto",
    threads: Annotated[int | None, Option(help="CPU threads [all cores].")] = None,
    as_json: AsJson = False,
) -> None:
    """Put a run's attention on trial: print the finding, write its table, figure and settings."""
    from attentest.progress import TerminalListener
    from attentest.training.folder import without_nan
    from attentest.training.run import choose_device
    from attentest.trials import TRIALS, hold, make_trial, subject_of

    if threads is not None:
        _set_threads(threads)
    if name == "all" and option:
        raise InputError("Options belong to one trial; name it instead of all.")
    chosen = [make_trial(one, **_named_values(option or [])) for one in (TRIALS if name == "all" else [name])]
    subject = subject_of(attentest.open_run(run), texts=texts, device=str(choose_device(device)), site=site)
    if name == "all":
        chosen = [one for one in chosen if one.fits(subject)]
    with TerminalListener(quiet=as_json) as listener:
        findings = hold(chosen, subject, lambda done, total: listener.progress("read", done, total))
    if as_json:
        found = [without_nan(finding.as_dict()) for finding in findings]
        print(json.dumps(found if name == "all" else found[0], ensure_ascii=False))
        return
    for finding in findings:
        print(f"\n{finding.trial}: {finding.question}\n{finding.answer}")
        for note in finding.notes:
            print(f"  {note}")
        width = max((len(label) for label in finding.summary), default=0)
        for label, estimate in finding.summary.items():
            print(f"  {label:<{width}}  {estimate}")
        print(f"  {finding.files['finding']}")


@app.command()
def trials(as_json: AsJson = False) -> None:
    """List the trials: the question, the paper and section, what it needs, its settings."""
    from dataclasses import fields

    from attentest.studies.experiments import EXPERIMENTS, experiment_class
    from attentest.trials import TRIALS, trial_class

    kinds = {name: trial_class(name) for name in TRIALS}
    if as_json:
        print(
            json.dumps(
                {
                    name: {
                        "question": kind.question,
                        "source": kind.source,
                        "needs": kind.needs,
                        "settings": {f.name: f.default for f in fields(kind)},  # type: ignore[arg-type]
                    }
                    for name, kind in kinds.items()
                },
                ensure_ascii=False,
            )
        )
        return
    for name, kind in kinds.items():
        settings = ", ".join(f"{f.name}={f.default}" for f in fields(kind))  # type: ignore[arg-type]
        print(f"{name}\n  {kind.question}\n  {kind.source}\n  needs {kind.needs}; settings: {settings}")
    print("\nexperiments, for which 'attentest study' trains further models:")
    for name in EXPERIMENTS:
        experiment = experiment_class(name)
        settings = ", ".join(f"{f.name}={f.default}" for f in fields(experiment))  # type: ignore[arg-type]
        print(f"{name}\n  {experiment.question}\n  {experiment.source}\n  settings: {settings or 'none'}")


@app.command()
def study(
    name: Annotated[str, Argument(help="A paper (jain2019, wiegreffe2019, …) or a YAML file of your own.")],
    more: Annotated[list[str] | None, Argument(hidden=True)] = None,
    out: Annotated[Path | None, Option(help="The study's folder [studies/NAME].")] = None,
    corpus: Annotated[
        list[str] | None, Option("--corpus", help="Corpora instead of the study's own: --corpus sst imdb.")
    ] = None,
    budget: Annotated[str, Option(help="small or paper: epochs, seeds, λ values, rows and texts.")] = "paper",
    rows: Annotated[
        int | None, Option(help="Rows of each corpus at most, evenly from splits and classes [the budget's].")
    ] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Print the steps and an estimate of their time.")] = False,
    engine: Annotated[str, Option(help="local or ray.")] = "local",
    workers: Annotated[int | None, Option(help="Processes of the local engine [all cores].")] = None,
    address: Annotated[str | None, Option(help="Of a Ray cluster, e.g. auto [a Ray of its own].")] = None,
    store: Annotated[
        str | None, Option(help="Folder or URL where results are kept [ATTENTEST_STORE or a cache].")
    ] = None,
    data_dir: Annotated[Path | None, Option(help="Folder of the benchmarks [ATTENTEST_DATA].")] = None,
    as_json: AsJson = False,
) -> None:
    """Run a paper's study or your own: plan, train, hold the trials, set ours beside the published figures."""
    from attentest.engine.store import Store
    from attentest.studies import find_study
    from attentest.studies.run import plan_study, run_study

    chosen = find_study(name)
    if more and not corpus:
        raise InputError(f"'{more[0]}' was not expected; name corpora after --corpus.")
    corpora = [*(corpus or []), *(more or [])]
    if engine not in ("local", "ray"):
        raise InputError(f"The engine '{engine}' is not known; choose local or ray.")
    if dry_run:
        expanded = plan_study(chosen, budget, corpora, data_dir, rows)
        expanded.summarise()
        _print_plan(expanded.plan, Store(store), as_json)
        return
    from attentest.engine.local import LocalPool
    from attentest.engine.on_ray import RayPool
    from attentest.progress import TerminalWatcher

    folder = out or Path("studies") / chosen.name
    with TerminalWatcher(quiet=as_json) as watcher:
        try:
            outcome = run_study(
                chosen,
                folder,
                lambda s: LocalPool(s, workers) if engine == "local" else RayPool(s, address),
                budget=budget,
                corpora=corpora,
                data_dir=data_dir,
                rows=rows,
                store=Store(store),
                watchers=[watcher],
            )
        except KeyboardInterrupt:
            print("attentest: stopped. Started again, the study goes on from what is finished.", file=sys.stderr)
            raise typer.Exit(130) from None
    if as_json:
        print(json.dumps({"folder": str(folder), **vars(outcome)}, ensure_ascii=False))
    else:
        print(f"{outcome.done} steps run, {outcome.reused} from the store")
        for step, error in outcome.failed.items():
            print(f"failed: {step}\n  {error}")
        if outcome.skipped:
            print(f"not run, as they stand on failed steps: {', '.join(outcome.skipped)}")
        if (folder / "summary.md").exists():
            print((folder / "summary.md").read_text(encoding="utf-8"))
        print(folder)
    if outcome.failed:
        raise typer.Exit(1)


@app.command()
def status(
    folder: Annotated[Path, Argument(help="A study's folder.")],
    as_json: AsJson = False,
) -> None:
    """What of a study is done, running and failed, and how long is left."""
    from attentest.studies.folder import status as status_of

    found = status_of(folder)
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    print(f"{found['study']}, budget {found['budget']}: {found['done']} of {found['steps']} steps done")
    for now in found["running"].values():
        print(f"  running  {now['name']}: {now['stage']} {100 * now['share']:.0f} %")
    for name, error in found["failed"].items():
        print(f"  failed   {name}: {error.splitlines()[-1]}")
    if found["missing"]:
        left = f"about {found['seconds_left'] / 60:.0f} minutes left"
        print(left if found["alive"] else f"not running; {left} when started again")


store_app = typer.Typer(no_args_is_help=True, help="The store of finished steps.")
app.add_typer(store_app, name="store")


@store_app.command("gc")
def collect(
    store: Annotated[str | None, Option(help="Folder or URL of the store [ATTENTEST_STORE or a cache].")] = None,
    dry_run: Annotated[bool, Option("--dry-run", help="Only say what would go.")] = False,
) -> None:
    """Remove what no study's folder needs any more."""
    from attentest.engine.store import Store

    count, freed = Store(store).collect(dry_run=dry_run)
    print(f"{count} entries, {freed / 1e6:.1f} MB {'would go' if dry_run else 'removed'}")


def _print_plan(plan: Any, store: Any, as_json: bool) -> None:
    rows = [{"name": s.name, "seconds": round(s.seconds, 1), "done": store.has(s.key)} for s in plan]
    left = sum(row["seconds"] for row in rows if not row["done"])
    if as_json:
        print(json.dumps({"steps": rows, "seconds": round(left, 1)}, ensure_ascii=False))
        return
    for row in rows:
        print(f"{'done' if row['done'] else '{:.0f} s'.format(row['seconds']):>8}  {row['name']}")
    print(f"{len(rows)} steps, about {left / 60:.0f} minutes on one core")


@app.command()
def corpora(as_json: AsJson = False) -> None:
    """List the corpora that have a name, and the original layouts that --format reads."""
    from attentest.corpora import FORMATS, corpus_names

    _print_lists(
        {"corpora": corpus_names(), "formats": {name: source.summary for name, source in FORMATS.items()}},
        as_json,
    )


@app.command()
def models(as_json: AsJson = False) -> None:
    """List the parts a model can be made of."""
    from attentest.models import ALIGNMENTS, DECODERS, ENCODERS, PAIRINGS, PROJECTIONS, STRUCTURES

    parts = {
        "structures": STRUCTURES,
        "encoders": ENCODERS,
        "alignments": ALIGNMENTS,
        "projections": PROJECTIONS,
        "pairings": PAIRINGS,
        "decoders": DECODERS,
    }
    _print_lists(
        {
            title: {
                name if part.parameter is None else f"{name}:{part.parameter:g}": part.summary
                for name, part in registry.items()
            }
            for title, registry in parts.items()
        },
        as_json,
    )


def _print_lists(lists: dict[str, dict[str, str]], as_json: bool) -> None:
    if as_json:
        print(json.dumps(lists, ensure_ascii=False))
        return
    width = max(len(name) for names in lists.values() for name in names)
    for title, names in lists.items():
        print(f"{title}:")
        for name, summary in names.items():
            print(f"  {name:<{width}}  {summary}")


def _corpus_options(pairs: list[str], named: Container[str]) -> dict[str, Any]:
    options = _named_values(pairs)
    for name, value in options.items():
        if name in named:
            raise InputError(f"'{name}' has an option of its own: --{name.replace('_', '-')} {value}.")
    return options


def _named_values(pairs: list[str]) -> dict[str, Any]:
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


def _stoppable(work: Callable[..., Any], *arguments: Any, **settings: Any) -> Any:
    try:
        return work(*arguments, **settings)
    except KeyboardInterrupt:
        print("attentest: stopped. Started again, the training goes on from its last epoch.", file=sys.stderr)
        raise typer.Exit(130) from None


def _set_threads(threads: int) -> None:
    if not 1 <= threads <= 1024:
        raise InputError(f"threads is {threads}; it must lie between 1 and 1024.")
    import torch

    torch.set_num_threads(threads)


def _write(path: Path, content: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error
    print(path)


if __name__ == "__main__":
    main()
