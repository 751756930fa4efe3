"""Loaders of downloaded corpora, on tiny files in exactly the layouts of the originals."""

from __future__ import annotations

import csv
import gzip
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from written import notes_of_source

from attentest.corpora.layouts import aclimdb, adr, ag_news, babi, cnn, mimic, newsgroups, nli, sst
from attentest.errors import InputError


def write(file: Path, text: str, encoding: str = "utf-8") -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text.encode(encoding))
    return file


# Stanford Sentiment Treebank


@pytest.fixture
def sst_folder(tmp_path: Path) -> Path:
    trees = ["(3 (2 It) (4 (2 really) (3 works)))", "(1 (2 It) (0 fails))", "(2 (2 It) (2 is))"]
    trees += ["(4 (3 Great) (2 -LRB-))", "(0 (1 Bad) (2 !))"]
    for split in ("train", "dev", "test"):
        write(tmp_path / f"{split}.txt", "\n".join(trees) + "\n")
    return tmp_path


def test_sst_takes_the_root_label_and_drops_neutral(sst_folder: Path) -> None:
    corpus = sst.load(sst_folder)
    assert corpus.classes == ("negative", "positive")
    assert corpus.table["text"].to_pylist()[:4] == ["It really works", "It fails", "Great -LRB-", "Bad !"]
    assert corpus.labels.tolist() == [1, 0, 1, 0] * 3
    assert notes_of_source(corpus) == ("Dropped 3 neutral sentences.",)
    assert corpus.split.tolist() == ["train"] * 4 + ["dev"] * 4 + ["test"] * 4
    assert corpus.recipe["min_tokens"] == 6


def test_sst_fine_keeps_five_classes(sst_folder: Path) -> None:
    corpus = sst.load(sst_folder, fine=True)
    assert len(corpus.classes) == 5
    assert corpus.labels.tolist() == [3, 1, 2, 4, 0] * 3
    assert notes_of_source(corpus) == ()


@pytest.mark.parametrize(
    "tree", ["(3 (2 It) (4 works)", "(3 (2 It)) (4 works)", "(7 (2 It))", "It works", "(3)", "(3 (It))", ")("]
)
def test_sst_names_the_line_of_a_broken_tree(sst_folder: Path, tree: str) -> None:
    write(sst_folder / "dev.txt", f"(2 ok)\n{tree}\n")
    with pytest.raises(InputError, match=r"dev\.txt, line 2 .*expected one tree"):
        sst.load(sst_folder)


# IMDb


@pytest.fixture
def imdb_folder(tmp_path: Path) -> Path:
    for split in ("train", "test"):
        for side, rating in (("pos", 9), ("neg", 2)):
            for i in range(4):
                text = f"Film {i}.<br /><br />It was {side}. Café."
                write(tmp_path / split / side / f"{i}_{rating}.txt", text)
    write(tmp_path / "train" / "unsup" / "0_0.txt", "Not labelled.")
    return tmp_path


def test_imdb_reads_four_folders(imdb_folder: Path) -> None:
    corpus = aclimdb.load(imdb_folder)
    rows = {row["id"]: row for row in corpus.table.to_pylist()}
    assert len(rows) == 16
    assert rows["train/pos/0_9"]["text"] == "Film 0.\nIt was pos. Café."
    assert corpus.classes[rows["test/neg/3_2"]["label"]] == "negative"
    assert corpus.counts()["test"] == {"negative": 4, "positive": 4}
    assert (corpus.recipe["min_tokens"], corpus.recipe["max_tokens"], corpus.recipe["long"]) == (
        7,
        399,
        "drop",
    )


def test_imdb_refuses_a_file_that_is_no_review(imdb_folder: Path) -> None:
    write(imdb_folder / "test" / "pos" / "readme.txt", "Hello")
    with pytest.raises(InputError, match=r"readme\.txt is not named like a review"):
        aclimdb.load(imdb_folder)


def test_imdb_names_line_and_byte_that_are_not_utf8(imdb_folder: Path) -> None:
    write(imdb_folder / "train" / "neg" / "0_2.txt", "one\ncafé", "latin-1")
    with pytest.raises(InputError, match=r"0_2\.txt, line 2, byte 7 is not UTF-8"):
        aclimdb.load(imdb_folder)


def test_imdb_refuses_an_empty_folder(imdb_folder: Path) -> None:
    for file in (imdb_folder / "test" / "neg").iterdir():
        file.unlink()
    with pytest.raises(InputError, match="has no reviews"):
        aclimdb.load(imdb_folder)


# 20 Newsgroups

MESSAGE = """From: someone@example.org
Subject: Re: the game
Lines: 9

In article <1@example.org> other@example.org (Other) writes:
>Who won?
> | nobody
The home side won, and the naïve bet lost.

It was a long evening
and a cold one.

--
Someone, somewhere
"""


@pytest.fixture
def news_folder(tmp_path: Path) -> Path:
    for part in ("train", "test"):
        for group in ("rec.sport.baseball", "rec.sport.hockey", "sci.space"):
            for i in range(4):
                write(tmp_path / f"20news-bydate-{part}" / group / str(100 + i), MESSAGE, "latin-1")
    return tmp_path


def test_newsgroups_keep_only_what_the_author_wrote(news_folder: Path) -> None:
    corpus = newsgroups.load(news_folder)
    assert corpus.classes == ("rec.sport.baseball", "rec.sport.hockey")
    assert len(corpus) == 16
    wrote = "The home side won, and the naïve bet lost.\n\nIt was a long evening\nand a cold one."
    assert set(corpus.table["text"].to_pylist()) == {wrote}
    assert corpus.table["id"][0].as_py() == "train/rec.sport.baseball/100"


def test_newsgroups_of_choice_may_be_a_list_or_a_string(news_folder: Path) -> None:
    chosen = ["sci.space", "rec.sport.hockey"]
    assert newsgroups.load(news_folder, groups=chosen).classes == tuple(chosen)
    assert newsgroups.load(news_folder, groups="sci.space, rec.sport.hockey").classes == tuple(chosen)


@pytest.mark.parametrize(
    ("body", "left"),
    [
        ("One line only.", "One line only."),
        ("First.\n\nJoe\njoe@example.org", "First."),
        ("First.\n\n1\n2\n3\n4\n5", "First.\n\n1\n2\n3\n4\n5"),
        ("First.\n\nSecond.\n-----\nJoe\n-----", "First.\n\nSecond."),
        ("Bob wrote:\n> hm\nHe wrote: no.", "He wrote: no."),
        ("---\nJoe", "---\nJoe"),
    ],
)
def test_signature_and_quotes(body: str, left: str) -> None:
    assert newsgroups.strip_message(f"Subject: x\n\n{body}\n") == left


def test_message_without_a_body_is_empty() -> None:
    assert newsgroups.strip_message("Subject: x\nLines: 0\n") == ""


def test_newsgroups_suggest_the_nearest_group(news_folder: Path) -> None:
    with pytest.raises(InputError, match=r"'rec\.sport\.hokey'; did you mean 'rec\.sport\.hockey'"):
        newsgroups.load(news_folder, groups=("sci.space", "rec.sport.hokey"))
    with pytest.raises(InputError, match="at least two"):
        newsgroups.load(news_folder, groups=("sci.space",))


# AG News


def write_csv(file: Path, records: Sequence[Sequence[object]]) -> Path:
    with file.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, quoting=csv.QUOTE_ALL).writerows(records)
    return file


@pytest.fixture
def ag_folder(tmp_path: Path) -> Path:
    records = [(1 + i % 4, f"Title {i}", f'Said "so", again\\and {i}') for i in range(24)]
    write_csv(tmp_path / "train.csv", records)
    write_csv(tmp_path / "test.csv", records[:8])
    return tmp_path


def test_ag_news_all(ag_folder: Path) -> None:
    corpus = ag_news.load(ag_folder)
    assert corpus.classes == ("World", "Sports", "Business", "Science/Technology")
    assert corpus.table["text"][0].as_py() == 'Title 0\nSaid "so", again and 0'
    assert corpus.counts()["test"] == dict.fromkeys(corpus.classes, 2)


def test_ag_news_world_business_has_descriptions_only(ag_folder: Path) -> None:
    corpus = ag_news.load(ag_folder, classes="world-business")
    assert corpus.classes == ("World", "Business")
    assert len(corpus) == 16
    assert not any("Title" in text for text in corpus.table["text"].to_pylist())
    assert corpus.table["id"].to_pylist()[:2] == ["train/1", "train/3"]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('"1","two columns"', "line 2 has 2 columns"),
        ('"Class","Title","Text"', "line 2 has class 'Class'"),
        ('"1","never closed', "is not CSV"),
    ],
)
def test_ag_news_names_a_broken_line(ag_folder: Path, line: str, said: str) -> None:
    write(ag_folder / "test.csv", f'"1","a","b"\n{line}\n')
    with pytest.raises(InputError, match=rf"test\.csv.*{said}.*expected"):
        ag_news.load(ag_folder)


def test_ag_news_refuses_an_unknown_choice(ag_folder: Path) -> None:
    with pytest.raises(InputError, match="did you mean 'world-business'"):
        ag_news.load(ag_folder, classes="world-busines")


# adverse drug reactions

TWEETS = "".join(f'{i}\tu{i}\t{i % 2}\tTook "it" and felt {i}\n' for i in range(20))


def test_adr_from_one_file_drops_withdrawn_tweets(tmp_path: Path) -> None:
    file = write(tmp_path / "tweets.txt", TWEETS + "20\tu\t0\tNot Available\n21\tu\t1\t\n\n")
    corpus = adr.load(file)
    assert len(corpus) == 20
    assert corpus.classes == ("no reaction", "reaction")
    assert corpus.table["text"][3].as_py() == 'Took "it" and felt 3'
    assert corpus.notes[0] == "Dropped 2 tweets whose text is no longer available."


def test_adr_from_a_folder_keeps_its_splits(tmp_path: Path) -> None:
    write(tmp_path / "train.tsv", TWEETS)
    write(tmp_path / "test.tsv", TWEETS.replace("\n", "\r\n"))
    corpus = adr.load(tmp_path)
    assert sum(corpus.counts()["test"].values()) == 20
    assert corpus.table["text"][-1].as_py().endswith("felt 19")


@pytest.mark.parametrize(
    ("line", "said"),
    [("1\t2\tno label here", "line 21 has 3 columns"), ("1\t2\tyes\tx", "line 21 has label 'yes'")],
)
def test_adr_names_a_broken_line(tmp_path: Path, line: str, said: str) -> None:
    file = write(tmp_path / "tweets.tsv", TWEETS + line)
    with pytest.raises(InputError, match=f"{said}; expected tab-separated lines"):
        adr.load(file)


# MIMIC-III

NOTE_HEADER = "ROW_ID,SUBJECT_ID,HADM_ID,CHARTDATE,CHARTTIME,STORETIME,CATEGORY,DESCRIPTION,CGID,ISERROR,TEXT"
CODES = {100: ["25000", "4019"], 101: ["4019"], 102: ["2809"], 103: ["2851"], 104: ["2851", "28521"]}


def note(admission: object, text: str, category: str = "Discharge summary", error: str = "") -> list[object]:
    return [1, 1, admission, "2100-01-01", "", "", category, "Report", "", error, text]


@pytest.fixture
def mimic_folder(tmp_path: Path) -> Path:
    """Five admissions for each of the patterns in CODES: 100, 110, 120… have diabetes, and so on."""
    diagnoses: list[Sequence[object]] = [("ROW_ID", "SUBJECT_ID", "HADM_ID", "SEQ_NUM", "ICD9_CODE")]
    notes: list[Sequence[object]] = [NOTE_HEADER.split(",")]
    for i in range(0, 50, 10):
        for admission, codes in CODES.items():
            diagnoses += [(1, 1, admission + i, n, code) for n, code in enumerate(codes)]
            notes.append(note(admission + i, f'Seen on [**2100-1-\n1**], "well".\nNumber {admission + i}'))
    notes.append(note(100, "Addendum."))
    notes.append(note(100, "Wrong patient.", error="1"))
    notes.append(note(100, "Chest film.", category="Radiology"))
    notes.append(note("", "No admission."))
    notes.append(note(999, "No diagnoses."))
    write_csv(tmp_path / "DIAGNOSES_ICD.csv", diagnoses)
    write_csv(tmp_path / "NOTEEVENTS.csv", notes)
    return tmp_path


def test_mimic_diabetes(mimic_folder: Path) -> None:
    corpus = mimic.load_diabetes(mimic_folder)
    rows = {row["id"]: row for row in corpus.table.to_pylist()}
    assert rows["100"]["text"] == 'Seen on deidentified, "well".\nNumber 100\nAddendum.'
    assert {i for i, row in rows.items() if row["label"] == 1} == {"100", "110", "120", "130", "140"}
    assert len(rows) == 25
    assert corpus.notes[0] == "Dropped 1 admissions that have no row in DIAGNOSES_ICD.csv."
    assert corpus.recipe["min_tokens"] == 7


def test_mimic_anemia_drops_both_and_neither(mimic_folder: Path) -> None:
    corpus = mimic.load_anemia(mimic_folder)
    labels = {row["id"]: corpus.classes[row["label"]] for row in corpus.table.to_pylist()}
    assert {i[-1] for i, name in labels.items() if name == "chronic"} == {"2"}
    assert {i[-1] for i, name in labels.items() if name == "acute"} == {"3"}
    assert len(labels) == 10
    assert "Dropped 15 admissions with both kinds of anemia or neither." in corpus.notes


def test_mimic_reads_gzip_and_very_long_fields(mimic_folder: Path) -> None:
    plain = mimic_folder / "NOTEEVENTS.csv"
    with plain.open("a", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerow(note(101, "word " * 50_000))
    limit = csv.field_size_limit()
    whole = mimic.load_diabetes(mimic_folder)
    with gzip.open(mimic_folder / "NOTEEVENTS.csv.gz", "wb") as stream:
        stream.write(plain.read_bytes())
    plain.unlink()
    assert mimic.load_diabetes(mimic_folder).fingerprint() == whole.fingerprint()
    assert max(len(text) for text in whole.table["text"].to_pylist()) > 200_000
    assert csv.field_size_limit() == limit


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("ROW_ID,HADM_ID,TEXT\n", "has no column CATEGORY"),
        (NOTE_HEADER + "\n1,2,3\n", "line 2 has 3 columns; expected 11"),
        (NOTE_HEADER + '\n1,2,3,4,5,6,7,8,9,10,"never closed\n', "cannot be read after line"),
        ("", "has no column HADM_ID"),
    ],
)
def test_mimic_says_what_is_wrong_with_a_file(mimic_folder: Path, content: str, said: str) -> None:
    write(mimic_folder / "NOTEEVENTS.csv", content)
    with pytest.raises(InputError, match=rf"NOTEEVENTS\.csv.* {said}"):
        mimic.load_diabetes(mimic_folder)


def test_mimic_says_that_a_gzip_file_is_cut_short(mimic_folder: Path) -> None:
    plain = mimic_folder / "NOTEEVENTS.csv"
    packed = gzip.compress(plain.read_bytes())
    plain.unlink()
    (mimic_folder / "NOTEEVENTS.csv.gz").write_bytes(packed[: len(packed) // 2])
    with pytest.raises(InputError, match=r"NOTEEVENTS\.csv\.gz cannot be read"):
        mimic.load_diabetes(mimic_folder)


# all of them

LOADERS: dict[str, tuple[Callable[[Path], object], str]] = {
    "sst": (sst.load, r"train\.txt"),
    "aclimdb": (aclimdb.load, "train/neg"),
    "newsgroups": (newsgroups.load, "20news-bydate-train"),
    "ag_news": (ag_news.load, r"train\.csv"),
    "adr": (adr.load, r"train\.tsv"),
    "diabetes": (mimic.load_diabetes, r"DIAGNOSES_ICD\.csv"),
    "anemia": (mimic.load_anemia, r"DIAGNOSES_ICD\.csv"),
    "snli": (nli.load_snli, r"snli_1\.0_train\.jsonl"),
    "multinli": (nli.load_multinli, r"multinli_1\.0_train\.jsonl"),
    "babi": (babi.load, r"qa1_\*train\.txt"),
    "cnn": (cnn.load, "questions/training"),
}


@pytest.mark.parametrize("name", LOADERS)
def test_missing_folder_and_missing_file_are_said_with_what_was_expected(tmp_path: Path, name: str) -> None:
    load, wanted = LOADERS[name]
    with pytest.raises(InputError, match=rf"{tmp_path} has no .*{wanted}.* expected "):
        load(tmp_path)
    with pytest.raises(InputError, match=rf"nowhere (?:does not exist|is not a folder); expected .*{wanted}"):
        load(tmp_path / "nowhere")
