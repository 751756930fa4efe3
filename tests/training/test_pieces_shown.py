"""Word pieces as users see them: whole words of their text, with the weight of all pieces, on both texts of a pair."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tiny_tokenizers import SENTENCES, word_pieces
from word_model import WordModel

from attentest.corpora import build_corpus
from attentest.errors import InputError
from attentest.files import write_table
from attentest.reports.instances import read_instances, write_csv
from attentest.text.prepare import TokenizedCorpus
from attentest.text.prepare_pieces import tokenize_pieces
from attentest.text.settings import TextSettings
from attentest.training.predict import predict
from attentest.training.results import _attention_table, _predictions_table
from attentest.training.run_texts import attend, heatmaps, probabilities
from attentest.training.tables import read_attention, read_predictions
from attentest.trials.instances import ORIGINAL, instances
from attentest.trials.subject import Subject

TEXT, SECOND = "The unwatchable film", "Dull, unwatchable"
WORDS = ["The", "unwatchable", "film", "Dull", ",", "unwatchable"]
COUNTS = [1, 3, 1, 1, 1, 3]  # pieces of these words


def model() -> WordModel:
    """All pieces have the same score, so that a word's weight is its number of pieces."""
    words = len(word_pieces().vocabulary)
    return WordModel(np.linspace(-1, 1, words).tolist(), [0.0] * words)


def data(pair: bool, special: bool = False) -> TokenizedCorpus:
    columns: dict[str, Any] = {"text": [TEXT, *SENTENCES], "label": [0, 1] * 5 + [0]}
    columns["rationale"] = [[0, 1, 0], *([0] * len(text.split()) for text in SENTENCES)]
    columns |= {"second": [SECOND, *reversed(SENTENCES)]} if pair else {}
    corpus = build_corpus("x", columns, kind="pair" if pair else "single")
    return tokenize_pieces(corpus, word_pieces(), max_tokens=500, special=special)


def run_of(folder: Path, pair: bool) -> Any:
    """What of a run is asked for heat maps, with its tables written and read."""
    read = data(pair)
    found = predict(model(), read, np.arange(len(read.rows)))
    rows = read.corpus.table.take(read.rows)
    write_table(folder / "predictions.parquet", _predictions_table(rows, read, found))
    write_table(folder / "attention.parquet", _attention_table(rows, read, found))
    predictions = read_predictions(folder / "predictions.parquet", read.corpus.classes, pair)
    return SimpleNamespace(
        kind=read.corpus.kind,
        classes=list(read.corpus.classes),
        tokenizer=word_pieces(),
        vocabulary=word_pieces().vocabulary,
        model=model(),
        max_tokens=500,
        text_settings=TextSettings(),
        has_given_weights=False,
        view=None,
        dtype="auto",
        is_hierarchical=False,
        predictions=predictions,
        attention=read_attention(folder / "attention.parquet", predictions, False, True),
    )


@pytest.mark.parametrize("pair", [False, True])
def test_heat_maps_of_the_test_split_show_words(tmp_path: Path, pair: bool) -> None:
    run = run_of(tmp_path, pair)
    (found,) = heatmaps(run, ids=[run.predictions["id"][0].as_py()])
    many = 6 if pair else 3
    assert found.words == WORDS[:many]
    assert found.weights == pytest.approx(np.array(COUNTS[:many]) / sum(COUNTS[:many]))
    assert found.rationale == [False, True, False, False, False, False][:many]
    assert found.in_second == (3 if pair else 0)
    assert found.unknown == [False] * many


@pytest.mark.parametrize("pair", [False, True])
def test_heat_maps_of_texts_of_your_own_show_words(tmp_path: Path, pair: bool) -> None:
    (found,) = attend(run_of(tmp_path, pair), f"{TEXT} 日", SECOND if pair else None)
    assert found.words == [*WORDS[:3], "日", *WORDS[3:][: 3 * pair]]
    assert found.unknown == [False, False, False, True, *[False] * (3 * pair)]
    assert sum(found.weights) == pytest.approx(1)
    assert found.as_dict()["tokens"] == found.words


def test_a_pair_without_a_piece_in_one_text_is_refused(tmp_path: Path) -> None:
    run = run_of(tmp_path, pair=True)
    for pair in (("\u0301", SECOND), (TEXT, "\u0301")):
        with pytest.raises(InputError, match="There is no token in the text"):
            attend(run, *pair)


def test_probabilities_of_single_texts_are_of_their_pieces(tmp_path: Path) -> None:
    run = run_of(tmp_path, pair=False)
    found = probabilities(run, [TEXT, "\u0301"])
    assert found[0] == pytest.approx(attend(run, TEXT)[0].probabilities)
    assert found[1] == pytest.approx(attend(run, "日")[0].probabilities)  # as an unknown word


@pytest.mark.parametrize("special", [False, True])
@pytest.mark.parametrize("pair", [False, True])
def test_texts_under_other_weights_show_words(tmp_path: Path, pair: bool, special: bool) -> None:
    read = data(pair, special)
    table = instances(Subject(model(), read, np.array([0, 1])), texts=2)
    many = 6 if pair else 3
    original = next(row for row in table.to_pylist() if row["text"] == TEXT and row["variant"] == ORIGINAL)
    pieces = sum(COUNTS[:many]) + (2 + pair) * special  # special tokens have weight that no word has
    assert original["weight"] == pytest.approx(np.array(COUNTS[:many]) / pieces)
    assert original["rationale"] == [0, 1, 0, 0, 0, 0][:many]
    write_table(tmp_path / "instances.parquet", table)
    shown = next(text for text in read_instances(tmp_path / "instances.parquet") if text.tokens[1] == "unwatchable")
    assert shown.tokens == WORDS[:many]
    assert shown.second is None  # it stands in the map, if there is one
    assert shown.gaps == ["", " ", " ", *["\n» ", "", " "][: 3 * pair]]
    write_csv(tmp_path / "instances.parquet", tmp_path / "instances.csv")
    assert ",unwatchable," in (tmp_path / "instances.csv").read_text(encoding="utf-8")


def test_tables_of_earlier_versions_have_heat_on_one_text(tmp_path: Path) -> None:
    table = instances(Subject(model(), data(pair=False), np.array([0])), texts=1)
    write_table(tmp_path / "instances.parquet", table.drop_columns(["in_second"]))
    (text,) = read_instances(tmp_path / "instances.parquet")
    assert text.tokens == WORDS[:3]


@pytest.mark.parametrize(
    ("name", "value"), [("in_second", 6), ("in_second", -1), ("in_second", 7), ("second", None), ("second", "Dull")]
)
def test_a_damaged_table_of_pairs_is_told(tmp_path: Path, name: str, value: Any) -> None:
    table = instances(Subject(model(), data(pair=True), np.array([0])), texts=1)
    rows = [row | {name: value} for row in table.to_pylist()]
    write_table(tmp_path / "instances.parquet", pa.Table.from_pylist(rows, table.schema))
    with pytest.raises(InputError, match="lacks what its heat map needs"):
        read_instances(tmp_path / "instances.parquet")


@pytest.mark.parametrize(("name", "value"), [("part", 2), ("word", 7), ("end", 99), ("start", -1)])
def test_a_damaged_table_of_pieces_is_told(tmp_path: Path, name: str, value: int) -> None:
    run = run_of(tmp_path, pair=True)
    rows = run.attention.to_pylist()
    rows[0][name][3] = value
    write_table(tmp_path / "attention.parquet", pa.Table.from_pylist(rows, run.attention.schema))
    with pytest.raises(InputError, match="tokens do not lie in their texts"):
        read_attention(tmp_path / "attention.parquet", run.predictions, False, True)
