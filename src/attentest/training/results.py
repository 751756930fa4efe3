"""What a finished training leaves in its folder: weights, tables, and last of all the word that it is finished."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from attentest.errors import InputError
from attentest.files import hash_of, read_table, without_nan, write_json, write_table
from attentest.models.build import Trainable
from attentest.text.prepare import TokenizedCorpus
from attentest.training.checkpoint import NAME as CHECKPOINT
from attentest.training.fit import Progress
from attentest.training.folder import FILES, OF_ENCODER, DamagedRunError
from attentest.training.predict import Predictions
from attentest.training.record import RESULT, VOCABULARY, ResultRecord, read_result, read_run
from attentest.training.tensors import write_tensors
from attentest.training.windows import by_text, scores_of

_NO_HISTORY = pa.schema({"epoch": pa.int64(), "loss": pa.float64(), "score": pa.float64()})


def _listed(folder: Path) -> list[str]:
    """The files whose hashes are kept: a fine-tuned encoder has others than a vocabulary."""
    absent = [VOCABULARY] if read_run(folder)[0].model.pretrained is not None else OF_ENCODER
    return [name for name in FILES if name not in (CHECKPOINT, RESULT, *absent)]


def write_results(folder: Path, model: Trainable, data: TokenizedCorpus, test: Predictions, progress: Progress) -> None:
    write_tensors(folder / "model.safetensors", model.state_dict())
    metrics = scores_of(data, test)
    kept = progress.history[progress.best_epoch - 1 :][:1]  # of a model that was trained elsewhere there is none
    write_table(folder / "history.parquet", pa.Table.from_pylist(progress.history, None if kept else _NO_HISTORY))
    write_table(
        folder / "metrics.parquet",
        pa.Table.from_pylist(
            [
                {"split": split, "metric": name, "value": float(value)}
                for split, found in (
                    *(("dev", {name: best[name] for name in metrics}) for best in kept),
                    ("test", metrics),
                )
                for name, value in found.items()
            ]
        ),
    )
    whole = by_text(data, test)
    rows = data.corpus.table.take(data.rows[whole.rows])
    write_table(folder / "predictions.parquet", _predictions_table(rows, data, whole))
    write_table(folder / "attention.parquet", _attention_table(rows, data, whole))
    files = {name: hash_of(folder / name) for name in _listed(folder)}
    write_json(folder / RESULT, asdict(ResultRecord(progress.best_epoch, dict(metrics), files)))
    (folder / CHECKPOINT).unlink(missing_ok=True)


def check_results(folder: Path) -> None:
    """Refuse a finished training whose files are not what it wrote; an earlier version did not list them."""
    try:
        record = read_result(folder)
        for name in _listed(folder) if record.files else ():
            if hash_of(folder / name) != record.files.get(name):
                raise InputError(f"{folder / name} is not what the training wrote")
        if record.files and record.test != _tested(folder):
            raise InputError(f"{folder / RESULT} and metrics.parquet are not of one training")
    except InputError as error:
        raise DamagedRunError(str(error).rstrip(".")) from error


def _tested(folder: Path) -> dict[str, float | None]:
    rows = read_table(folder / "metrics.parquet").to_pylist()
    test: dict[str, float | None] = without_nan({r["metric"]: r["value"] for r in rows if r["split"] == "test"})
    return test


def _predictions_table(rows: pa.Table, data: TokenizedCorpus, test: Predictions) -> pa.Table:
    names = np.array(data.corpus.classes, dtype=object)
    return pa.table(
        {
            "id": rows["id"].cast(pa.string()),
            "text": rows["text"],
            **({"second": rows["second"]} if data.corpus.kind == "pair" else {}),
            "label": pa.array(names[data.labels[test.rows]], pa.string()),
            "predicted": pa.array(names[test.probabilities.argmax(1)], pa.string()),
            "probability": pa.array(list(test.probabilities), pa.list_(pa.float32())),
        }
    )


def _attention_table(rows: pa.Table, data: TokenizedCorpus, test: Predictions) -> pa.Table:
    """One row a text, with a list entry a token: the token, its place in the text, its weight.

    Of word pieces also the number of their word; where they are of both texts of a pair, `part` is 1 for those of the
    second, whose places are in that one.
    Of a hierarchical model also the number of the token's sentence, and a list with an entry a sentence: its weight.
    """
    texts = rows["text"].to_pylist()
    marks = rows["rationale"].to_pylist() if data.corpus.has_rationale else [None] * len(texts)
    columns: dict[str, list[Any]] = {name: [] for name in ("token", "start", "end", "rationale", "part", "word")}
    for text, mark, items in zip(texts, marks, data.whole_items(test.rows), strict=True):
        columns["token"].append(items.tokens)
        columns["start"].append([start for start, _ in items.spans])
        columns["end"].append([end for _, end in items.spans])
        columns["rationale"].append(mark and items.marks(text, mark))
        columns["part"].append(items.texts)
        columns["word"].append(items.words)
    table = {
        "id": rows["id"].cast(pa.string()),
        "token": pa.array(columns["token"], pa.list_(pa.string())),
        "start": pa.array(columns["start"], pa.list_(pa.int32())),
        "end": pa.array(columns["end"], pa.list_(pa.int32())),
        "weight": pa.array(test.weights, pa.list_(pa.float32())),
    }
    if data.pieces is not None:
        table["word"] = pa.array(columns["word"], pa.list_(pa.int32()))
        if data.corpus.kind == "pair":
            table["part"] = pa.array(columns["part"], pa.list_(pa.int8()))
    if data.corpus.has_rationale:
        table["rationale"] = pa.array(columns["rationale"], pa.list_(pa.int8()))
    if test.sentence_weights is not None and data.sentences is not None:
        offsets = data.sequences.offsets
        numbers = [data.sentences[offsets[row] : offsets[row + 1]] for row in test.rows]
        table["sentence"] = pa.array(numbers, pa.list_(pa.int32()))
        table["sentence_weight"] = pa.array(test.sentence_weights, pa.list_(pa.float32()))
    return pa.table(table)
