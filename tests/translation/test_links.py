"""Links between words are read as they are written, and what is wrong is told with its file and line."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from attentest.errors import InputError
from attentest.translation.links import read_links
from attentest.translation.pieces import letters, shares_of_words
from attentest.translation.settings import TranslationText
from attentest.translation.tokens import learn_tokens


def written(
    folder: Path, links: str, source: str = "a b\nc d e\n", target: str = "x y\nz\n"
) -> tuple[Path, Path, Path]:
    files = []
    for name, content in (("links.txt", links), ("a.txt", source), ("b.txt", target)):
        (folder / name).write_text(content, encoding="utf-8")
        files.append(folder / name)
    return files[0], files[1], files[2]


def test_sure_and_possible_links(tmp_path: Path) -> None:
    one, two = read_links(*written(tmp_path, "0-0 1-1 0p1\n2p0 2-0\n"))
    assert (one.source, one.target) == (("a", "b"), ("x", "y"))
    assert one.sure == {(0, 0), (1, 1)}
    assert one.possible == {(0, 0), (1, 1), (0, 1)}
    assert two.sure == two.possible == {(2, 0)}


def test_words_may_count_from_one_and_have_no_links(tmp_path: Path) -> None:
    one, two = read_links(*written(tmp_path, "1-1 2p2\n\n"), first=1)
    assert one.sure == {(0, 0)}
    assert one.possible == {(0, 0), (1, 1)}
    assert not two.possible


def test_a_table_has_its_own_sentences(tmp_path: Path) -> None:
    table = pa.table({"source": ["a b"], "target": ["x y z"], "alignment": ["0-2 1p0"]})
    pq.write_table(table, tmp_path / "links.parquet")
    (pair,) = read_links(tmp_path / "links.parquet")
    assert pair.target == ("x", "y", "z")
    assert pair.sure == {(0, 2)}
    assert pair.possible == {(0, 2), (1, 0)}
    with pytest.raises(InputError, match="leave out source_words"):
        read_links(tmp_path / "links.parquet", tmp_path / "a", tmp_path / "b")
    pq.write_table(table.drop_columns(["alignment"]), tmp_path / "none.parquet")
    with pytest.raises(InputError, match="'alignment' is missing"):
        read_links(tmp_path / "none.parquet")


def test_a_space_that_does_not_break_is_a_word_without_letters(tmp_path: Path) -> None:
    (pair,) = read_links(*written(tmp_path, "0-0 2-1\n", "a \xa0 b\n", "x y\n"))
    assert pair.source == ("a", "\xa0", "b")
    assert pair.sure == {(0, 0), (2, 1)}
    shares = shares_of_words("a \xa0 b", [(0, 1), (4, 5)], pair.source)
    assert shares is not None
    assert shares.tolist() == [[1, 0, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("links", "said"),
    [
        ("0-0\n0-0 1:1\n", "links.txt, line 2: '1:1' is no link; expected i-j (sure) or ipj (possible)."),
        ("0-0 -1-0\n\n", "line 1: '-1-0' is no link"),
        ("0-0 2-0\n\n", "line 1: the link '2-0' is out of range: the source has 2 words, numbered from 0"),
        ("\n0-1\n", "line 2: the link '0-1' is out of range: the target has 1 words"),
        ("0-0\n", "links.txt has 1 lines and"),
        ("0-0\n", "links.txt has no line 2."),
        ("\n\n\n", "a.txt has no line 3."),
        ("٣-0\n\n", "is no link"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(tmp_path: Path, links: str, said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        read_links(*written(tmp_path, links))


def test_a_file_that_counts_from_one_is_noticed_where_it_is_read_from_zero(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="numbered from 1"):
        read_links(*written(tmp_path, "0-0\n\n"), first=1)


def test_links_without_their_sentences_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="has links alone; give the tokenised sentences"):
        read_links(written(tmp_path, "0-0\n\n")[0])
    with pytest.raises(InputError, match="there is no such file"):
        read_links(tmp_path / "nothing", *written(tmp_path, "")[1:])


def test_subwords_are_parts_of_words() -> None:
    # ab|cd e|f. as tokens, abc|de|f|. as words: cd lies across two of them
    found = shares_of_words("abcd ef.", [(0, 2), (2, 4), (5, 6), (6, 8)], ["ABC", "de", "f", "."])
    assert found is not None
    assert found.tolist() == [[1, 0, 0, 0], [0.5, 0.5, 0, 0], [0, 1, 0, 0], [0, 0, 0.5, 0.5]]


def test_a_sign_for_a_blank_belongs_to_what_follows_it() -> None:
    found = shares_of_words("a 漢", [(0, 1), (2, 3), (2, 3)], ["a", "漢"])
    assert found is not None
    assert found.tolist() == [[1, 0], [0, 1], [0, 1]]


@pytest.mark.parametrize(
    ("text", "words"), [("ab", ["a"]), ("ab", ["a", "c"]), ("straße", ["strasse"]), ("", []), ("ab", ["ab", "c"])]
)
def test_words_that_do_not_spell_the_text_have_no_shares(text: str, words: list[str]) -> None:
    spans = [(0, len(text))] if text else []
    assert shares_of_words(text, spans, words) is None


@pytest.mark.parametrize("tokenizer", ["word", "whitespace", "subword"])
def test_every_tokenizer_says_where_its_tokens_are(tokenizer: str) -> None:
    texts = ["Zwei Hunde, die nicht rennen.", "  Cafe\u0301 am   Fluss 漢字 ﷺ!", "don't"]
    tokens = learn_tokens(texts[:1], TranslationText(tokenizer=tokenizer, min_frequency=1, vocabulary=40))  # type: ignore[arg-type]
    for text in texts:
        spans = tokens.spans(text)
        assert len(spans) == len(tokens.ids(text))
        words = text.split()
        found = shares_of_words(text, spans, words)
        assert found is not None
        assert np.allclose(found.sum(1), 1)
        assert (found.sum(0) > 0).all()  # each word has tokens


def test_letters_leave_out_blanks_and_case() -> None:
    assert letters(" Ein  Hund .") == letters("ein Hund.") == "einhund."
