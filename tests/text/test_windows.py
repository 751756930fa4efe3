"""Long texts in windows: where they begin, what they share, and that no piece is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tiny_tokenizers import SENTENCES, byte_pieces, word_pieces

from attentest.corpora import Corpus, build_corpus
from attentest.errors import InputError
from attentest.text import TextSettings, tokenize_corpus, tokenize_pieces
from attentest.text.pieces import PieceTokenizer
from attentest.text.rationales import token_marks
from attentest.text.windows import check_stride, mean_weights, places_in, stretches, whole_of

LONG = " ".join(SENTENCES[:3])
KINDS = pytest.mark.parametrize("tokenizer", [word_pieces(), byte_pieces()], ids=["words", "bytes"])


def corpus_of(texts: list[str], second: list[str] | None = None, **columns: Any) -> Corpus:
    more = {} if second is None else {"second": second}
    rows = {"text": texts, "label": [i % 2 for i in range(len(texts))], **more, **columns}
    return build_corpus("x", rows, kind="single" if second is None else "pair")


def windows(lengths: list[list[int]], most: int, stride: int) -> list[list[Any]]:
    return [bounds.tolist() for bounds in stretches(np.array(lengths), most, "windows", stride)[1]]


def test_windows_by_hand() -> None:
    """A window begins most − stride pieces after the one before it, and the last one ends with the text."""
    assert windows([[3]], 4, 1) == [[[0, 3]]]
    assert windows([[4]], 4, 1) == [[[0, 4]]]
    assert windows([[5]], 4, 1) == [[[0, 4]], [[1, 5]]]
    assert windows([[10]], 4, 1) == [[[0, 4]], [[3, 7]], [[6, 10]]]
    assert windows([[11]], 4, 1) == [[[0, 4]], [[3, 7]], [[6, 10]], [[7, 11]]]
    assert windows([[10]], 4, 0) == [[[0, 4]], [[4, 8]], [[6, 10]]]
    assert windows([[6]], 4, 3) == [[[0, 4]], [[1, 5]], [[2, 6]]]
    text, _ = stretches(np.array([[3, 5, 4, 10]]), 4, "windows", 1)
    assert text.tolist() == [0, 1, 1, 2, 3, 3, 3]


def test_windows_of_pairs_by_hand() -> None:
    """The longer text is read in windows, next to the shorter one, which has at most half of each."""
    assert windows([[2], [4]], 6, 1) == [[[0, 2], [0, 4]]]
    assert windows([[2], [9]], 6, 1) == [[[0, 2], [0, 4]], [[0, 2], [3, 7]], [[0, 2], [5, 9]]]
    assert windows([[7], [5]], 6, 1) == [[[0, 3], [0, 3]], [[2, 5], [0, 3]], [[4, 7], [0, 3]]]
    assert windows([[5], [5]], 7, 0) == [[[0, 3], [0, 4]], [[0, 3], [1, 5]]]


@pytest.mark.parametrize("pair", [False, True])
def test_every_piece_is_in_a_window_and_neighbours_share_what_was_asked_for(pair: bool) -> None:
    draw = np.random.default_rng(0)
    for _ in range(100):
        most = int(draw.integers(2, 20))
        stride = int(draw.integers(0, most - most // 2 if pair else most))
        lengths = draw.integers(1, 60, (2 if pair else 1, 5))
        text, bounds = stretches(lengths, most, "windows", stride)
        assert np.unique(text).tolist() == list(range(5))
        for row in range(5):
            own = bounds[text == row]
            sizes = (own[:, :, 1] - own[:, :, 0]).sum(1)
            assert (sizes == min(most, lengths[:, row].sum())).all()
            for part, length in enumerate(lengths[:, row]):
                read = {piece for begin, end in own[:, part] for piece in range(begin, end)}
                whole = pair and length > most // 2 and length <= lengths[1 - part, row]
                assert read == set(range(most // 2 if whole and len(read) < length else length))
                shared = own[:-1, part, 1] - own[1:, part, 0]
                if own[0, part].tolist() != own[-1, part].tolist():  # the text that is read in windows
                    assert (shared[:-1] == stride).all()
                    assert shared[-1] >= stride


def test_a_stride_with_which_windows_do_not_move_on_is_refused() -> None:
    check_stride(9, 10, pair=False)
    check_stride(4, 10, pair=True)
    with pytest.raises(InputError, match="stride is 10; it must be below 10"):
        check_stride(10, 10, pair=False)
    with pytest.raises(InputError, match="stride is 5; it must be below 5, half of a window"):
        check_stride(5, 10, pair=True)
    with pytest.raises(InputError, match="must be below 6"):
        tokenize_pieces(corpus_of([LONG] * 10), word_pieces(), max_tokens=6, long="windows", stride=6)
    with pytest.raises(InputError, match="stride 3 is what windows share"):
        TextSettings(stride=3)
    with pytest.raises(InputError, match="stride is -1"):
        TextSettings(long="windows", stride=-1)


def test_models_without_a_limit_have_no_windows() -> None:
    settings = TextSettings(long="windows", stride=2, max_tokens=4)
    with pytest.raises(InputError, match="pretrained encoders"):
        tokenize_corpus(corpus_of([LONG] * 10), settings)
    whole = settings.in_one_piece()
    assert tokenize_corpus(corpus_of([LONG] * 10), whole).sequences.lengths.min() > 20
    assert TextSettings(max_tokens=7).in_one_piece() == TextSettings(max_tokens=7)


@KINDS
@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("special", [False, True])
def test_windows_have_the_pieces_and_places_of_the_whole_text(
    tokenizer: PieceTokenizer, pair: bool, special: bool
) -> None:
    texts, others = [LONG, *SENTENCES], [SENTENCES[6], *reversed(SENTENCES)] if pair else None
    corpus = corpus_of(texts, others)
    data = tokenize_pieces(corpus, tokenizer, max_tokens=16, long="windows", stride=3, special=special)
    assert data.has_windows
    assert data.bounds is not None
    seen: dict[tuple[int, int], set[int]] = {}
    for row, items in enumerate(data.items(np.arange(len(data.rows)))):
        assert data.vocabulary.ids(items.tokens).tolist() == data.sequences[row].tolist()
        text = int(data.rows[row])
        for part, sentence in enumerate([texts[text], others[text]] if others else [texts[text]]):
            begin, end = data.bounds[row, part].tolist()
            inside: list[int] = np.flatnonzero(items.texts == part).tolist()
            assert [items.tokens[i] for i in inside] == tokenizer.tokens(sentence)[begin:end]
            assert [items.spans[i] for i in inside] == tokenizer.spans(sentence)[begin:end]
            seen.setdefault((text, part), set()).update(range(begin, end))
        frame = tokenizer.frame(pair=pair)
        assert len(items.tokens) <= 16 + (frame.size if special else 0)
        own = items.words[items.words >= 0]
        assert own[0] == 0
        assert set(np.diff(own).tolist()) <= {0, 1}
    if not pair:
        assert all(len(pieces) == len(tokenizer.tokens(texts[text])) for (text, _), pieces in seen.items())


def test_rows_are_named_by_text_and_window() -> None:
    corpus = corpus_of([LONG, *SENTENCES], id=["a", *"bcdefghijk"])
    data = tokenize_pieces(corpus, word_pieces(), max_tokens=len(word_pieces().tokens(SENTENCES[1])), long="windows")
    names = data.ids(np.arange(len(data.rows)))
    several = (data.rows == 0).sum()
    assert names[:several] == [f"a#{n}" for n in range(1, several + 1)]
    assert "c" in names  # it is as long as a window
    assert len(set(names)) == len(names)
    assert data.ids(np.array([1])) == ["a#2"]
    assert data.windows_of(1).tolist() == list(range(several))
    assert data.labels[:several].tolist() == [corpus.labels[0]] * several


def test_windows_are_counted() -> None:
    lengths = np.array([len(word_pieces().tokens(text)) for text in (LONG, *SENTENCES)])
    data = tokenize_pieces(corpus_of([LONG, *SENTENCES]), word_pieces(), max_tokens=20, long="windows", stride=5)
    count = sum(max(1, -(-(length - 5) // 15)) for length in lengths)
    long = int((lengths > 20).sum())
    assert 1 < long < len(lengths)
    assert len(data.rows) == count
    assert data.notes == (
        f"Read {long} of 11 texts in {count - (11 - long)} windows of 20 word pieces, of which neighbours share 5 or, "
        f"at the end of a text, more (the longest has {lengths.max()}). Each window is read as a text of its own; the "
        "probabilities of a text are the means over its windows, and trials examine one window of each text, drawn at "
        "random.",
    )
    short = tokenize_pieces(corpus_of(["film", "dull film"] * 5), word_pieces(), max_tokens=20, long="windows")
    assert not short.notes
    assert not short.has_windows


def test_a_shorter_text_that_is_cut_is_counted() -> None:
    seconds = [LONG] * 2 + ["film"] * 8
    data = tokenize_pieces(corpus_of([LONG + LONG] * 10, seconds), word_pieces(), max_tokens=21, long="windows")
    assert data.notes[1] == "Cut the shorter text of 2 pairs to 10 word pieces, half of a window."


def test_short_and_long_texts_are_dropped_if_asked_for() -> None:
    lengths = np.array([len(word_pieces().tokens(text)) for text in (LONG, "film", *SENTENCES)])
    data = tokenize_pieces(
        corpus_of([LONG, "film", *SENTENCES]), word_pieces(), max_tokens=30, min_tokens=2, long="drop"
    )
    assert data.rows.tolist() == np.flatnonzero((lengths <= 30) & (lengths > 1)).tolist()
    assert data.notes == (
        "Dropped 1 texts with fewer than 2 word pieces.",
        f"Dropped {(lengths > 30).sum()} texts with more than 30 word pieces.",
    )
    with pytest.raises(InputError, match="none of the texts has between 1 and 2 word pieces"):
        tokenize_pieces(corpus_of([LONG] * 10), word_pieces(), max_tokens=2, long="drop")


def test_a_rationale_is_in_the_windows_that_have_it() -> None:
    texts = ["film film film dull film film film"] * 10
    corpus = corpus_of(texts, rationale=[[0, 0, 0, 1, 0, 0, 0]] * 10)
    data = tokenize_pieces(corpus, word_pieces(), max_tokens=4, long="windows", stride=1)
    marks = token_marks(data)
    assert marks[: data.sequences.offsets[2]].tolist() == [0, 0, 0, 1, 1, 0, 0, 0]


def test_one_window_of_each_text_is_drawn() -> None:
    """Each is as likely as the others: with 400 texts a share of 1/2 is 1/2 ± .1, four standard deviations."""
    data = tokenize_pieces(corpus_of(["film dull film"] * 400), word_pieces(), max_tokens=2, long="windows", stride=1)
    every = np.arange(len(data.rows))
    chosen = data.one_of_each_text(every)
    assert data.rows[chosen].tolist() == list(range(400))
    assert abs((chosen % 2).mean() - 0.5) < 0.1
    assert np.array_equal(data.one_of_each_text(every[::-1]), chosen)
    only = every[every % 2 == 1]
    assert np.array_equal(data.one_of_each_text(only), only)


def test_means_over_windows_by_hand() -> None:
    bounds = np.array([[[0, 3]], [[2, 5]]])
    assert whole_of(bounds).tolist() == [[0, 5]]
    found = mean_weights(bounds, [np.array([0.5, 0.25, 0.25]), np.array([0.5, 0.25, 0.25])])
    assert found.tolist() == [0.25, 0.125, 0.375, 0.125, 0.125]
    pair = np.array([[[0, 2], [0, 2]], [[0, 2], [1, 3]]])
    assert places_in(whole_of(pair), pair[1]).tolist() == [0, 1, 3, 4]
    found = mean_weights(pair, [np.array([0.5, 0, 0.5, 0]), np.array([0, 0.5, 0.25, 0.25])])
    assert found.tolist() == [0.25, 0.25, 0.25, 0.125, 0.125]
