"""Corpora of translations: lines, tables, original layouts, and everything that can be wrong with them."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiny_translators import toy_pairs

from attentest.corpora import Corpus, load
from attentest.errors import InputError

PAIRS = toy_pairs(30)


def lines(path: Path, texts: list[str], end: str = "\n") -> Path:
    path.write_bytes("".join(f"{text}{end}" for text in texts).encode())
    return path


def two_files(folder: Path, split: str = "train", pairs: list[tuple[str, str]] = PAIRS) -> tuple[Path, Path]:
    return lines(folder / f"{split}.en", [a for a, _ in pairs]), lines(folder / f"{split}.de", [b for _, b in pairs])


def pairs_of(corpus: Corpus) -> list[tuple[str, str]]:
    assert corpus.kind == "generation"
    return list(zip(corpus.table["text"].to_pylist(), corpus.table["second"].to_pylist(), strict=True))


def test_two_files_line_by_line(tmp_path: Path) -> None:
    source, target = two_files(tmp_path)
    corpus = load(source, target=str(target))
    assert pairs_of(corpus) == PAIRS
    assert corpus.name == "train"
    assert {name: sum(n.values()) for name, n in corpus.counts().items()} == {"train": 20, "dev": 4, "test": 6}


def test_windows_lines_a_mark_at_the_start_and_rare_breaks_are_no_lines(tmp_path: Path) -> None:
    odd = [(f"{a}\u2028\x85", b) for a, b in PAIRS]
    lines(tmp_path / "a.en", [a for a, _ in odd], "\r\n")
    (tmp_path / "a.de").write_bytes(b"\xef\xbb\xbf" + "\n".join(b for _, b in odd).encode())  # no last line end
    assert pairs_of(load(tmp_path / "a.en", target=str(tmp_path / "a.de"))) == odd


def test_a_folder_with_two_files_for_each_split(tmp_path: Path) -> None:
    for split, some in (("train", PAIRS[:20]), ("val", PAIRS[20:25]), ("test", PAIRS[25:])):
        two_files(tmp_path, split, some)
    corpus = load(tmp_path, format="parallel", languages="en-de")
    assert pairs_of(corpus) == PAIRS
    assert {name: sum(n.values()) for name, n in corpus.counts().items()} == {"train": 20, "dev": 5, "test": 5}
    assert corpus.table["id"][20].as_py() == "dev/1"


@pytest.mark.parametrize("kind", ["csv", "tsv", "jsonl", "parquet"])
def test_tables_with_two_columns(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"pairs.{kind}"
    rows = [{"en": a, "de": b} for a, b in PAIRS]
    if kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    elif kind == "jsonl":
        lines(file, [json.dumps(row) for row in rows])
    else:
        sign = {"csv": ",", "tsv": "\t"}[kind]
        lines(file, [f"en{sign}de", *(f"{row['en']}{sign}{row['de']}" for row in rows)])
    corpus = load(file, text="en", target="de")
    assert pairs_of(corpus) == PAIRS
    assert (
        corpus.fingerprint()
        == load({"a": [a for a, _ in PAIRS], "b": [b for _, b in PAIRS]}, text="a", target="b").fingerprint()
    )


def test_news_commentary_as_two_files_and_as_a_table(tmp_path: Path) -> None:
    with_gap = [*PAIRS[:10], ("", ""), *PAIRS[10:]]  # an empty line ends an article
    for number, language in enumerate(("en", "de")):
        lines(tmp_path / f"news-commentary-v11.de-en.{language}", [pair[number] for pair in with_gap])
    corpus = load(tmp_path, format="news-commentary")
    assert pairs_of(corpus) == PAIRS
    assert corpus.name == "news_commentary_v11_en_de"
    assert any("Dropped 1 of 31 pairs" in note and "line 11" in note for note in corpus.notes)
    lines(tmp_path / "news-commentary-v14.de-en.tsv", [f"{b}\t{a}" if a else "" for a, b in with_gap])
    newer = load(tmp_path, format="news-commentary")
    assert (newer.name, pairs_of(newer)) == ("news_commentary_v14_en_de", PAIRS)
    assert pairs_of(load(tmp_path, format="news-commentary", languages="de-en")) == [(b, a) for a, b in PAIRS]


def test_files_of_different_lengths_are_refused_with_the_line(tmp_path: Path) -> None:
    source, target = two_files(tmp_path)
    lines(target, [b for _, b in PAIRS[:-2]])
    with pytest.raises(InputError, match=r"30 lines and .*train.de has 28.*line 29 on train.en has no counterpart"):
        load(source, target=str(target))


def test_empty_lines_are_dropped_and_named(tmp_path: Path) -> None:
    pairs = [*PAIRS, ("a cat", ""), ("  ", "ein hund")]
    source, target = two_files(tmp_path, pairs=pairs)
    corpus = load(source, target=str(target))
    assert pairs_of(corpus) == PAIRS
    assert corpus.notes[0] == (
        "Dropped 2 of 32 pairs with an empty line on a side: train.en and train.de, lines 31, 32."
    )


def test_what_is_missing_or_too_much_is_told(tmp_path: Path) -> None:
    source, target = two_files(tmp_path)
    table = lines(tmp_path / "pairs.csv", ["en,de", *(f"{a},{b}" for a, b in PAIRS)])
    with pytest.raises(InputError, match="Name the target column with `target`"):
        load(table, text="en", target="fr")
    with pytest.raises(InputError, match="no such file"):
        load(source, target=str(tmp_path / "none.de"))
    with pytest.raises(InputError, match="has no label"):
        load(table, text="en", target="de", label="de")
    with pytest.raises(InputError, match="takes no 'text'"):
        load(source, target=str(target), text="en")
    with pytest.raises(InputError, match="`languages='en-de'`"):
        load(tmp_path, format="parallel")
    with pytest.raises(InputError, match=r"no train\.fr"):
        load(tmp_path, format="parallel", languages="fr-de")
    lines(tmp_path / "news-commentary-v11.de-en.en", ["a"])
    with pytest.raises(InputError, match="no pair en–fr"):
        load(tmp_path, format="news-commentary", languages="en-fr")
    lines(tmp_path / "news-commentary-v12.de-en.tsv", ["a\tb", "only one column"])
    with pytest.raises(InputError, match="line 2: expected two columns"):
        load(tmp_path, format="news-commentary")
    target.write_bytes(b"\xff\xfe\x00bad")
    with pytest.raises(InputError, match="UTF-16"):
        load(source, target=str(target))
