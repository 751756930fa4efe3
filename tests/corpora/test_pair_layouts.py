"""Loaders of downloaded corpora of pairs, on tiny files in exactly the layouts of the originals."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from written import notes_of_source

from attentest.corpora import Corpus, load
from attentest.corpora.babi_world import generate
from attentest.corpora.layouts import babi, cnn, nli
from attentest.errors import InputError
from attentest.training.settings import sort_settings

Row = dict[str, Any]


def rows_of(corpus: Corpus, split: str) -> list[Row]:
    """Text, second, answer and rationale, as the layouts have them."""
    named = [row | {"label": corpus.classes[row["label"]]} for row in corpus.table.to_pylist()]
    return [{k: v for k, v in row.items() if k not in ("id", "split")} for row in named if row["split"] == split]


# SNLI and MultiNLI

NLI_SPLITS = {
    "snli": {"train": "snli_1.0_train", "dev": "snli_1.0_dev", "test": "snli_1.0_test"},
    "multinli": {
        "train": "multinli_1.0_train",
        "dev": "multinli_1.0_dev_matched",
        "test": "multinli_1.0_dev_mismatched",
    },
}
JUDGED = ("neutral", "entailment", "contradiction", "-", "entailment", "neutral")


def judged(split: str) -> list[Row]:
    return [
        {
            "annotator_labels": [gold],
            "gold_label": gold,
            "pairID": f"{i}{gold[0]}",
            "sentence1": f'A "{split}" premise, {i}.',
            "sentence1_parse": "(ROOT x)",
            "sentence2": f"Hypothesis {i}",
        }
        for i, gold in enumerate(JUDGED)
    ]


def write_jsonl(file: Path, records: Iterable[Row]) -> Path:
    file.write_text("\n".join(json.dumps(record) for record in records) + "\n")
    return file


def write_txt(file: Path, records: Sequence[Row]) -> Path:
    header = ["gold_label", "sentence1_parse", "sentence1", "sentence2", "pairID", "label1", "label2"]
    lines = [[str(record.get(column, "")) for column in header] for record in records]
    file.write_text("\n".join("\t".join(line) for line in (header, *lines)) + "\n")
    return file


NLI_WRITERS: dict[str, Callable[[Path, Sequence[Row]], Path]] = {"jsonl": write_jsonl, "txt": write_txt}


@pytest.fixture(params=NLI_WRITERS)
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def write_nli(folder: Path, name: str, kind: str) -> Path:
    for split, stem in NLI_SPLITS[name].items():
        NLI_WRITERS[kind](folder / f"{stem}.{kind}", judged(split))
    return folder


@pytest.mark.parametrize("name", NLI_SPLITS)
def test_nli_reads_both_kinds_of_files(tmp_path: Path, name: str, kind: str) -> None:
    corpus = load(write_nli(tmp_path, name, kind), format=name)
    assert (corpus.name, corpus.kind) == (name, "pair")
    assert corpus.classes == ("entailment", "neutral", "contradiction")
    assert corpus.table["id"].to_pylist()[:4] == ["train/0n", "train/1e", "train/2c", "train/4e"]
    assert rows_of(corpus, "test")[3] == {
        "text": 'A "test" premise, 4.',
        "second": "Hypothesis 4",
        "label": "entailment",
    }
    assert corpus.counts() == {
        split: {"entailment": 2, "neutral": 2, "contradiction": 1} for split in ("train", "dev", "test")
    }
    assert "Dropped 3 pairs with the gold label '-': their annotators disagree." in corpus.notes
    assert corpus.recipe == {"digits": "qqq", "min_frequency": 3}
    assert any("dev_mismatched the test split" in note for note in corpus.notes) == (name == "multinli")
    assert corpus.answers is None


def test_nli_takes_jsonl_where_both_are_there(tmp_path: Path) -> None:
    write_nli(write_nli(tmp_path, "snli", "jsonl"), "snli", "txt")
    write_txt(tmp_path / "snli_1.0_dev.txt", [])
    (tmp_path / "snli_1.0_test.jsonl").unlink()
    assert len(nli.load_snli(tmp_path)) == 15


def test_nli_without_a_label_is_not_undecided(tmp_path: Path) -> None:
    write_nli(tmp_path, "snli", "jsonl")
    missing = [row | {"gold_label": None, "pairID": i} for i, row in enumerate(judged("dev")[:2])]
    write_jsonl(tmp_path / "snli_1.0_dev.jsonl", judged("dev") + missing)
    assert nli.load_snli(tmp_path).notes[1:] == ("Dropped 2 of 17 rows without a label.",)


def test_nli_refuses_an_unknown_label(tmp_path: Path, kind: str) -> None:
    write_nli(tmp_path, "snli", kind)
    NLI_WRITERS[kind](tmp_path / f"snli_1.0_dev.{kind}", [judged("dev")[0] | {"gold_label": "hidden"}])
    with pytest.raises(InputError, match=r"SNLI: .*snli_1\.0_dev\..* has the gold label 'hidden'; expected entailment"):
        nli.load_snli(tmp_path)


@pytest.mark.parametrize(
    ("kind", "content", "said"),
    [
        ("jsonl", b'{"premise": "a", "gold_label": "neutral"}\n', "does not have all of pairID, sentence1"),
        ("jsonl", b"no JSON\n", r"line 1: not valid JSON"),
        ("jsonl", b"", "has no rows"),
        ("jsonl", b'{"a": "\xff"}\n', "line 1: not valid utf-8"),
        ("txt", b"gold_label\tsentence1\n", "does not name pairID; expected tab-separated lines"),
        ("txt", b"", "does not name pairID"),
        ("txt", b"pairID\tsentence1\tsentence2\tgold_label\n\n", "has no rows under its header"),
        ("txt", b"pairID\tsentence1\tsentence2\tgold_label\n1n\ta\n", "line 2 has 2 columns; expected 4"),
        ("txt", b"pairID\n\xff\n", "line 2, byte 7 is not UTF-8"),
    ],
)
def test_nli_says_what_is_wrong_with_a_file(tmp_path: Path, kind: str, content: bytes, said: str) -> None:
    write_nli(tmp_path, "snli", kind)
    (tmp_path / f"snli_1.0_dev.{kind}").write_bytes(content)
    with pytest.raises(InputError, match=rf"snli_1\.0_dev\.{kind}.* ?{said}"):
        nli.load_snli(tmp_path)


# bAbI

STORIES = """1 Mary moved to the bathroom.
2 John went to the hallway.
3 Where is Mary? \tbathroom\t1
4 Daniel went back to the hallway.
5 Mary moved to the garden.
6 Where is Mary? \tgarden\t5
1 John went to the office.
2 Mary moved to the kitchen.
3 Where is John? \toffice\t1
"""


@pytest.fixture
def babi_folder(tmp_path: Path) -> Path:
    for split, times in (("train", 12), ("test", 2)):
        (tmp_path / f"qa1_single-supporting-fact_{split}.txt").write_text(STORIES * times)
    return tmp_path


def test_babi_rows_are_questions_with_the_statements_before_them(babi_folder: Path) -> None:
    corpus = load(babi_folder, format="babi")
    assert (corpus.name, corpus.kind, corpus.classes) == ("babi1", "pair", ("bathroom", "garden", "office"))
    assert (len(corpus), corpus.answers) == (42, "closed")
    first, second, third, *_ = rows_of(corpus, "test")
    assert first == {
        "text": "Mary moved to the bathroom.\nJohn went to the hallway.",
        "second": "Where is Mary?",
        "label": "bathroom",
        "rationale": [1] * 5 + [0] * 5,
    }
    assert second["text"].split("\n")[2:] == ["Daniel went back to the hallway.", "Mary moved to the garden."]
    assert second["rationale"] == [0] * 16 + [1] * 5
    assert third["text"] == "John went to the office.\nMary moved to the kitchen."
    assert [row["id"] for row in corpus.table.to_pylist() if row["split"] == "test"][:3] == [
        "test/3",
        "test/6",
        "test/9",
    ]
    assert notes_of_source(corpus) == ("No dev split was given: 6 training rows were set aside for it.",)


def write_original(file: Path, corpus: Corpus, split: str) -> None:
    """The rows of a generated corpus as numbered lines, each story once."""
    lines: list[str] = []
    told: list[int] = []  # the number of each statement's line
    story = ""
    for row in corpus.table.to_pylist():
        if row["split"] != split:
            continue
        if row["id"].split(".")[0] != story:
            story, told, number = row["id"].split(".")[0], [], 0
        sentences, marks, support = row["text"].split("\n"), iter(row["rationale"]), []
        for i, sentence in enumerate(sentences):
            if i == len(told):
                number += 1
                told.append(number)
                lines.append(f"{number} {sentence}")
            if {next(marks) for _ in sentence.split()} == {1}:
                support.append(told[i])
        number += 1
        supporting = " ".join(map(str, support))
        lines.append(f"{number} {row['second']} \t{corpus.classes[row['label']]}\t{supporting}")
    file.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("task", [1, 2, 3])
def test_generated_stories_come_back_from_the_original_layout(tmp_path: Path, task: int) -> None:
    corpus = generate(task, rows=400, seed=5)
    for split, ending in (("train", "train"), ("dev", "valid"), ("test", "test")):
        write_original(tmp_path / f"qa{task}_{ending}.txt", corpus, split)
    read = load(tmp_path, format="babi", task=task)
    assert (read.kind, read.classes, read.recipe, read.notes) == (corpus.kind, corpus.classes, corpus.recipe, ())
    for split in ("train", "dev", "test"):
        assert rows_of(read, split) == rows_of(corpus, split)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Mary moved.", "is 'Mary moved.'; expected a number and a sentence"),
        ("10", "is '10'; expected a number and a sentence"),
        ("4 Where is Mary?\tkitchen", "expected a question like '3 Where is Mary"),
        ("4 Where is Mary?\tkitchen\ttwo", "expected a question like '3 Where is Mary"),
        ("4 Where is Mary?\tkitchen\t9", "is supported by line 9, which is no statement before it"),
        ("4 Where is Mary?\tkitchen\t3", "is supported by line 3, which is no statement before it"),
    ],
)
def test_babi_names_a_broken_line(babi_folder: Path, line: str, said: str) -> None:
    (babi_folder / "qa1_single-supporting-fact_test.txt").write_text(f"{STORIES}{line}\n")
    with pytest.raises(InputError, match=rf"bAbI: .*_test\.txt, line 10 .*{said}"):
        babi.load(babi_folder)


@pytest.mark.parametrize(
    ("content", "said"),
    [(b"", "has no questions"), (b"1 Mary moved.\n", "has no questions"), (b"1 \xff\n", "line 1, byte 2 is not UTF-8")],
)
def test_babi_says_what_is_wrong_with_a_file(babi_folder: Path, content: bytes, said: str) -> None:
    (babi_folder / "qa1_single-supporting-fact_test.txt").write_bytes(content)
    with pytest.raises(InputError, match=said):
        babi.load(babi_folder)


def test_babi_has_three_tasks_with_one_file_a_split(babi_folder: Path) -> None:
    with pytest.raises(InputError, match="task 4 cannot be read; choose 1, 2 or 3"):
        load(babi_folder, format="babi", task=4)
    with pytest.raises(InputError, match=r"has no qa2_\*train\.txt"):
        load(babi_folder, format="babi", task=2)
    (babi_folder / "qa1_train.txt").write_text(STORIES)
    with pytest.raises(InputError, match=r"has qa1_single-supporting-fact_train\.txt and qa1_train\.txt; expected one"):
        babi.load(babi_folder)


# CNN

CONTEXT = "( @entity0 ) -- @entity{0} met @entity10 in @entity2 , the paper said ."


def question(answer: int, context: str = CONTEXT) -> str:
    names = "".join(f"@entity{i}:Name {i}\n" for i in (0, 2, 10))
    asked = "@placeholder was met , says @entity0"
    return f"http://example.org/{answer}\n\n{context.format(answer)}\n\n{asked}\n\n@entity{answer}\n\n{names}"


@pytest.fixture
def cnn_folder(tmp_path: Path) -> Path:
    for folder, files in (("training", 30), ("validation", 6), ("test", 6)):
        (tmp_path / "questions" / folder).mkdir(parents=True)
        for i in range(files):
            (tmp_path / "questions" / folder / f"{i:02}.question").write_text(question((10, 2, 5)[i % 3]))
    return tmp_path


def test_cnn_reads_context_question_and_entity(cnn_folder: Path) -> None:
    corpus = load(cnn_folder, format="cnn")
    assert (corpus.name, corpus.kind, corpus.classes) == ("cnn", "pair", ("@entity2", "@entity5", "@entity10"))
    assert corpus.counts()["dev"] == {"@entity2": 2, "@entity5": 2, "@entity10": 2}
    assert rows_of(corpus, "test")[2] == {
        "text": CONTEXT.format(5),
        "second": "@placeholder was met , says @entity0",
        "label": "@entity5",
    }
    assert corpus.table["id"][0].as_py() == "train/00"
    assert (corpus.answers, notes_of_source(corpus)) == ("entities", ())
    assert sort_settings(corpus, {}).text.tokenizer == "whitespace"


def test_cnn_has_as_many_classes_as_answers_even_where_they_are_many(cnn_folder: Path) -> None:
    for i in range(30):
        (cnn_folder / "questions" / "training" / f"{i:02}.question").write_text(question(100 + i))
    assert len(cnn.load(cnn_folder).classes) == 33


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"http://example.org/1\n\n( @entity0 ) -- cut sh",
        question(2).rpartition("\n\n")[0].encode(),
        question(2).replace("@placeholder", "he").encode(),
        question(2).replace("\n@entity2\n", "\nMary\n").encode(),
        question(2, " ").encode(),
        question(2).replace("met", "m\xe9t").encode("latin-1"),
    ],
)
def test_cnn_skips_and_counts_what_is_no_whole_question(cnn_folder: Path, content: bytes) -> None:
    for name in ("broken", "broken_too"):
        (cnn_folder / "questions" / "test" / f"{name}.question").write_bytes(content)
    corpus = cnn.load(cnn_folder)
    assert len(corpus) == 42
    assert notes_of_source(corpus) == ("Skipped 2 files that are not whole questions, such as test/broken.question.",)


def test_cnn_skips_an_answer_that_is_not_in_the_article(cnn_folder: Path) -> None:
    (cnn_folder / "questions" / "test" / "x.question").write_text(question(1, "@entity10 met @entity2 ."))
    assert notes_of_source(cnn.load(cnn_folder)) == ("Skipped 1 questions whose answer is not in their article.",)


def test_cnn_reads_windows_line_ends_and_a_blank_last_line(cnn_folder: Path) -> None:
    plain = cnn.load(cnn_folder)
    for file in cnn_folder.rglob("*.question"):
        file.write_bytes((file.read_bytes() + b"\n").replace(b"\n", b"\r\n"))
    assert cnn.load(cnn_folder).table.equals(plain.table)


def test_cnn_refuses_a_folder_without_questions(cnn_folder: Path) -> None:
    for file in (cnn_folder / "questions" / "validation").iterdir():
        file.write_text("something else")
    with pytest.raises(InputError, match=r"validation has no questions; expected files like x\.question"):
        cnn.load(cnn_folder)
