"""Notes about texts in two splits, texts with two labels and scripts without spaces; none changes the corpus."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from written import reviews

from attentest.corpora import Corpus, load
from attentest.corpora.build import build_corpus
from attentest.corpora.remarks import remarks

CHINESE = "这部电影非常好看，我很喜欢。演员的表演也很到位，推荐给大家！"
JAPANESE = "この映画はとても面白かったです。また見たいと思います。"
THAI = "ภาพยนตร์เรื่องนี้สนุกมาก ฉันชอบมันมาก"
UNCUT = "in scripts written without spaces"


def split_corpus(train: list[str], dev: list[str], test: list[str]) -> Corpus:
    """Texts of each split, whose labels are 0, 1, 0, 1…"""
    rows = [
        {"text": text, "label": i % 2, "split": split}
        for split, texts in (("train", train), ("dev", dev), ("test", test))
        for i, text in enumerate(texts)
    ]
    return load(rows, split="split")


def test_texts_in_two_splits_are_counted() -> None:
    corpus = split_corpus(
        [f"film {i}" for i in range(20)],
        ["film 1", "play 1", "play 2"],
        [" film 2\n", "film 2", "film 21", "Film 3", "film  4"],
    )
    assert corpus.notes == (
        "1 of 3 dev texts is also in train (white space aside), so scores on dev may be too high.",
        "2 of 5 test texts are also in train (white space aside), so scores on test may be too high.",
        "2 texts have more than one label, in 5 rows.",  # film 1 is 1 and 0, film 2 is 0, 0 and 1
    )


def test_few_of_many_are_counted_without_a_warning() -> None:
    corpus = split_corpus([f"film {i}" for i in range(20)], ["a", "b"], ["film 2", *(f"play {i}" for i in range(200))])
    assert corpus.notes == ("1 of 201 test texts is also in train (white space aside).",)


def test_texts_within_one_split_are_no_matter() -> None:
    assert split_corpus(["a film", "a play"] * 10, ["x", "y"], ["z", "w"]).notes == ()


def test_pairs_are_compared_as_pairs() -> None:
    rows = [{"text": "one story", "second": f"why {i}?", "label": i % 2, "split": "train"} for i in range(20)]
    rows += [{"text": "one story", "second": f"why {i}?", "label": 0, "split": "test"} for i in (3, 30)]
    rows += [{"text": "one story", "second": f"who {i}?", "label": i % 2, "split": "dev"} for i in range(4)]
    assert load(rows, second="second", split="split").notes == (
        "1 of 2 test pairs is also in train (white space aside), so scores on test may be too high.",
        "1 pair has more than one label, in 2 rows.",
    )


def test_counts_are_those_of_a_plain_loop() -> None:
    generator = np.random.default_rng(3)
    rows: list[dict[str, Any]] = [
        {
            "text": f"{' ' * (i % 3)}word {generator.integers(60)}",
            "label": int(generator.integers(3)),
            "split": ("train", "train", "dev", "test")[i % 4],
        }
        for i in range(300)
    ]
    train = {row["text"].strip() for row in rows if row["split"] == "train"}
    labels: dict[str, set[int]] = defaultdict(set)
    for row in rows:
        labels[row["text"].strip()].add(row["label"])
    conflicting = {text for text, found in labels.items() if len(found) > 1}
    in_rows = sum(row["text"].strip() in conflicting for row in rows)
    expected = []
    for split in ("dev", "test"):
        there = [row["text"].strip() for row in rows if row["split"] == split]
        expected.append(f"{sum(text in train for text in there)} of {len(there)} {split} texts are also in train")
    notes = load(rows, split="split").notes
    assert [note.partition(" (")[0] for note in notes[:2]] == expected
    assert notes[2] == f"{len(conflicting)} texts have more than one label, in {in_rows} rows."


def test_generation_has_no_labels_to_conflict() -> None:
    columns = {"text": ["ein Satz"] * 20, "second": [f"a sentence {i % 10}" for i in range(20)]}
    notes = build_corpus("x", columns, kind="generation").notes
    assert any("pairs are also in train" in note for note in notes)
    assert not any("label" in note for note in notes)


@pytest.mark.parametrize("text", [CHINESE, "很好吃，服务不错，下次再来", JAPANESE, THAI, f"good film {CHINESE}"])
def test_text_that_no_tokenizer_cuts(text: str) -> None:
    (note,) = [n for n in load([row | {"text": f"{text} {i}"} for i, row in enumerate(reviews())]).notes if UNCUT in n]
    share = "76%" if text.startswith("good") else "100%"
    assert note.startswith(f"About {share} of the letters are {UNCUT} (Chinese, Japanese, Thai")
    assert 'tokenizer="whitespace"' in note


@pytest.mark.parametrize(
    "text",
    [
        "这 部 电影 非常 好看 ， 我 很 喜欢 。 演员 的 表演 也 很 到位 ， 推荐 给 大家 ！",
        "この 映画 は とても 面白かった です 。 また 見 たい と 思い ます 。",
        "ภาพยนตร์ เรื่อง นี้ สนุก มาก ฉัน ชอบ มัน มาก",
        "이 영화는 정말 재미있었습니다. 추천합니다.",
        "यह फिल्म बहुत अच्छी है",
        "a long review of a film that was made in 北京电影学院 and shown at a festival, with much more to say about it "
        * 3,
        "123 !!! ???",
    ],
)
def test_text_that_is_cut(text: str) -> None:
    assert not any(UNCUT in n for n in load([row | {"text": f"{text} {i}"} for i, row in enumerate(reviews())]).notes)


def test_a_part_of_the_texts_is_enough_to_tell() -> None:
    rows = [row | {"text": CHINESE if i % 4 == 0 else f"a review of film {i}"} for i, row in enumerate(reviews(4000))]
    assert any(UNCUT in note for note in load(rows).notes)


def test_remarks_change_nothing_of_the_corpus(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row | {"text": CHINESE} for row in reviews()]
    noted = load(rows)
    monkeypatch.setattr("attentest.corpora.build.remarks", lambda table: [])
    plain = load(rows)
    assert len(noted.notes) > len(plain.notes)
    assert noted.table.equals(plain.table)
    assert noted.fingerprint() == plain.fingerprint()


def test_no_rows_no_remarks() -> None:
    empty = pa.table({"split": pa.array([], pa.string()), "text": pa.array([], pa.large_string())})
    assert remarks(empty) == []
