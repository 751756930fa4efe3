"""Sentences by rules: raw and tokenised text, abbreviations, other scripts, and the sentence of each token."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch

from attentest.corpora.build import build_corpus
from attentest.text import TextSettings, tokenize_corpus
from attentest.text.batches import make_batch
from attentest.text.sentences import sentence_numbers, sentence_starts, with_sentences
from attentest.text.tokenizer import Tokenizer


def split(text: str) -> list[str]:
    edges = [0, *sentence_starts(text), len(text)]
    pieces = [text[a:b].strip() for a, b in pairwise(edges)]
    return [piece for piece in pieces if piece]


@pytest.mark.parametrize(
    "sentences",
    [
        ["no end mark at all"],
        ["One."],
        ["Good film.", "Bad end!", "Why?", "Because…"],
        ["good .", "bad ."],
        ["he left ! ''", "she stayed ."],
        ["Mr. Smith met Dr. J. R. Jones.", "They left."],
        ["mr . smith came .", "he left ."],
        ["It cost $3.50 at 5 p.m.", "Then v1.2.3 came."],
        ["We saw lions, tigers, etc. and went on.", "Apple Inc.", "The end."],
        ["The U.S. Army, e.g. this one, vs. that."],
        ["See no. 5 of vol. 2.", "He said no.", "Then he went."],
        ['"What?" he asked.', '"Go."', "She left."],
        ["He left (it was late.)", "[Really?]", "Yes."],
        ["Hmm... well ... that was it.", "Wait...", "No."],
        ["What?!", "No!!!", "Yes."],
        ["So did I.", "Then she."],
        ["1. First thing.", "2. Second thing."],
        ["It was in 2019.", "Then 2020 came."],
        ["Read www.example.com/a.b now.", "Done."],
        ["wow 😀!", "nice 😀.", "🎉"],
        ["这很好。", "那不好！", "为什么？", "他说：「好。」", "完"],
        ["यह अच्छा है।", "वह नहीं।"],
        ["هل هذا جيد؟", "نعم."],
        ["?!?"],
        ["..."],
    ],
    ids=lambda sentences: sentences[0],
)
def test_sentences_are_found_again(sentences: list[str]) -> None:
    assert split(" ".join(sentences)) == sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", []),
        (" \n ", []),
        ("one\ntwo\r\n\n three", ["one", "two", "three"]),
        ("It ends.<br /><br />It begins<br>here", ["It ends.<br /><br />", "It begins<br>", "here"]),
        ("It was great.But it ended", ["It was great.", "But it ended"]),
        ("这很好。那不好", ["这很好。", "那不好"]),
        ("node.Js and 3.5 and U.S.A", ["node.", "Js and 3.5 and U.S.A"]),
    ],
)
def test_breaks_and_glued_sentences(text: str, expected: list[str]) -> None:
    assert split(text) == expected


@pytest.mark.parametrize("text", ["This is number it. ", "good film ! ", "好。", "line\n", "e.g. J. Doe came. "])
def test_five_hundred_sentences(text: str) -> None:
    assert len(split(text * 500)) == 500


@pytest.mark.parametrize("tokenizer", ["word", "whitespace"])
def test_each_token_has_the_number_of_its_sentence(tokenizer: str) -> None:
    text = "Good film .\n\n\n Bad end !  Why"
    found = sentence_numbers(text, Tokenizer(TextSettings(tokenizer=tokenizer)).spans(text))
    assert found == [0, 0, 0, 1, 1, 1, 2]


def test_sentences_without_a_token_do_not_count() -> None:
    text = "Good . Bad . Why"
    assert sentence_numbers(text, [(0, 4), (13, 16)]) == [0, 1]
    assert sentence_numbers(text, []) == []


def test_numbers_lie_as_the_tokens_do_and_are_cut_with_them() -> None:
    texts = ["a b . c .", "d", "e . f . g . h", *["x . y"] * 30]
    rows = {"text": texts, "label": [i % 2 for i in range(len(texts))], "split": ["train", "dev", "test"] * 11}
    data = tokenize_corpus(build_corpus("x", rows, classes=["0", "1"]), TextSettings(max_tokens=5))
    assert data.sentences is None
    assert make_batch(data, np.arange(2)).sentences is None
    data = with_sentences(data)
    assert data.sentences is not None
    assert data.sentences[:11].tolist() == [0, 0, 0, 1, 1, 0, 0, 0, 1, 1, 2]
    batch = make_batch(data, np.array([0, 1, 2]))
    assert batch.sentences is not None
    assert batch.sentences.tolist() == [[0, 0, 0, 1, 1], [0, 0, 0, 0, 0], [0, 0, 1, 1, 2]]
    second = torch.tensor([1])
    for some in (batch.select(second), batch.to("cpu").select(second)):
        assert some.sentences.tolist() == [[0]]  # type: ignore[union-attr]
