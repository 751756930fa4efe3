"""attentest train and show."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option

import attentest
from attentest.cli.app import app
from attentest.cli.options import (
    MODEL,
    TEXT,
    TRAINING,
    AsJson,
    CorpusOptions,
    DataDir,
    Encoding,
    Format,
    IdColumn,
    LabelColumn,
    Positive,
    RationaleColumn,
    Rows,
    SecondColumn,
    SplitColumn,
    TextColumn,
    corpus_options,
    set_threads,
    stoppable,
    write,
)
from attentest.errors import InputError


@app.command()
def train(
    source: Annotated[
        str,
        Argument(help="A corpus's name, a csv, tsv, jsonl or parquet file, a folder of them, or hf:NAME."),
    ],
    out: Annotated[Path, Option(help="The run's folder.")] = Path("runs/latest"),
    overwrite: Annotated[bool, Option("--overwrite", help="Replace another run in that folder.")] = False,
    text: TextColumn = None,
    second: SecondColumn = None,
    label: LabelColumn = None,
    split: SplitColumn = None,
    id: IdColumn = None,
    rationale: RationaleColumn = None,
    positive: Positive = None,
    format: Format = None,
    encoding: Encoding = "utf-8",
    data_dir: DataDir = None,
    rows: Rows = None,
    option: CorpusOptions = None,
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
    from attentest.cli.terminal import TerminalListener

    if threads is not None:
        set_threads(threads)
    with TerminalListener(quiet=as_json) as listener:
        named: dict[str, Any] = {
            "text": text, "second": second, "label": label, "split": split, "id": id, "rationale": rationale,
            "positive": positive, "format": format, "encoding": encoding, "data_dir": data_dir, "rows": rows,
        }  # fmt: skip
        corpus = attentest.load(source, **named, **corpus_options(option or [], named))
        text_settings = {
            "tokenizer": tokenizer, "lower": lower, "digits": digits, "min_frequency": min_frequency,
            "min_tokens": min_tokens, "max_tokens": max_tokens, "long": long, "vectors": vectors,
            "dimension": dimension,
        }  # fmt: skip
        run = stoppable(
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
            write(path, content())
    if as_json:
        print(json.dumps([heatmap.as_dict() for heatmap in heatmaps], ensure_ascii=False))
    elif html is None and svg is None:
        from rich.console import Console

        Console().print(heatmaps)
