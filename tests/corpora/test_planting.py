"""Words planted in any corpus: what is marked decides, and nothing else is changed."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import attentest
from attentest.audits import plan
from attentest.corpora import Corpus, build_corpus
from attentest.corpora.planted import lexicon
from attentest.corpora.planting import plant
from attentest.errors import InputError
from attentest.text.items import mark_tokens
from attentest.text.settings import TextSettings
from attentest.text.tokenizer import Tokenizer

ODD = (
    "",
    "   ",
    "one",
    "<p class='a'>Hello<br/>\n\n<b>world</b></p>",
    "👩‍👩‍👧 🎉🎉 fine",
    "e\u0301te\u0301 don't it's",
    "नमस्ते दुनिया",
    "你好世界",
    "tab\tand\u00a0blank\u2003here",
    "https://a.example/?" + "q=1&" * 400,
    "word " * 900,
    "\x1cx\x85y",
)


def texts_of(corpus: Corpus) -> list[str]:
    texts: list[str] = corpus.table["text"].to_pylist()
    return texts


def marked(corpus: Corpus) -> list[list[str]]:
    rows = zip(texts_of(corpus), corpus.table["rationale"].to_pylist(), strict=True)
    return [[w for w, m in zip(text.split(), marks or [], strict=False) if m] for text, marks in rows]


@pytest.fixture
def plain() -> Corpus:
    generator = np.random.default_rng(0)
    words = np.array(["the", "film", "was", "long", "and", "I", "liked", "it", "no", "more", "than", "Others", "did"])
    texts = [" ".join(generator.choice(words, 12)) for _ in range(600)]
    return build_corpus("films", {"text": texts, "label": np.tile(["bad", "good", "fair"], 200)})


def test_share_is_exact_and_balanced_in_every_split(plain: Corpus) -> None:
    planted = plant(plain, 0.5)
    has = np.array([marks is not None for marks in planted.table["rationale"].to_pylist()])
    for name in ("train", "dev", "test"):
        rows = planted.split == name
        assert has[rows].sum() == round(0.5 * rows.sum())
        counts = np.bincount(planted.labels[rows & has], minlength=3)
        assert counts.max() - counts.min() <= 1
    # new labels have nothing to do with the old ones
    table = np.zeros((3, 3))
    np.add.at(table, (plain.labels[has], planted.labels[has]), 1)
    assert (table > 15).all()


def test_rows_that_are_not_planted_stay_and_others_keep_their_words(plain: Corpus) -> None:
    planted = plant(plain, 0.3, evidence=2)
    for before, after, words in zip(texts_of(plain), texts_of(planted), marked(planted), strict=True):
        rest = after.split()
        for word in words:
            rest.remove(word)
        assert rest == before.split()
        assert len(words) in (0, 2)
    same = np.array([not words for words in marked(planted)])
    assert (plain.labels[same] == planted.labels[same]).all()
    assert planted.table["id"].equals(plain.table["id"])


def test_planted_words_tell_the_label(plain: Corpus) -> None:
    planted = plant(plain, 1)
    owner: dict[str, set[int]] = {}
    for words, label in zip(marked(planted), planted.labels, strict=True):
        owner.setdefault(words[0], set()).add(int(label))
    assert len(owner) == 12
    assert all(len(labels) == 1 for labels in owner.values())


def test_words_that_the_corpus_has_in_any_form_are_not_planted(plain: Corpus) -> None:
    first = lexicon()[:6]
    forms = [first[0].upper(), first[1].title(), f"({first[2]})", f"{first[3]}-x", f"a_{first[4]}9", f"{first[5]}n't"]
    table = plain.table.set_column(
        plain.table.column_names.index("text"), "text", pa.array([*forms, *texts_of(plain)[6:]], pa.large_string())
    )
    used = {word for words in marked(plant(replace(plain, table=table), 1)) for word in words}
    assert used
    assert not used & set(first)
    assert all(re.fullmatch("[a-z]+", word) for word in used)


@pytest.mark.parametrize("tokenizer", ["word", "whitespace"])
@pytest.mark.parametrize("evidence", [1, 2])
def test_odd_texts(tokenizer: str, evidence: int, tmp_path: Path) -> None:
    plain = build_corpus("odd", {"text": ["a b c"] * 36, "label": ["x", "y"] * 18})
    table = plain.table.set_column(
        plain.table.column_names.index("text"), "text", pa.array([*ODD] * 3, pa.large_string())
    )
    planted = plant(replace(plain, table=table, recipe={"max_tokens": 50}), 1, evidence=evidence)
    # read as a model reads them, cut to 50 tokens: all that is marked is there, and it is what was planted
    settings = TextSettings(tokenizer=tokenizer, max_tokens=50)
    read = Tokenizer(settings)
    for text, marks in zip(texts_of(planted), planted.table["rationale"].to_pylist(), strict=True):
        tokens = read.tokens(text)[:50]
        kept = [t for t, m in zip(tokens, mark_tokens(text, marks, read.spans(text)[:50]), strict=True) if m]
        assert len(kept) == evidence
        assert set(kept) <= set(lexicon())
    # also as Arrow counts words
    assert attentest.load(planted.save(tmp_path / "odd.parquet")).fingerprint() == planted.fingerprint()


def test_seed_and_ids_decide_and_the_order_of_rows_does_not(plain: Corpus) -> None:
    planted = plant(plain, 0.5)
    turned = plant(replace(plain, table=plain.table.take(np.arange(len(plain))[::-1])), 0.5)
    assert turned.table["text"].to_pylist()[::-1] == texts_of(planted)
    assert turned.labels[::-1].tolist() == planted.labels.tolist()
    assert plant(plain, 0.5).fingerprint() == planted.fingerprint()
    assert plant(plain, 0.5, seed=1).fingerprint() != planted.fingerprint()


def test_load_plants_in_names_files_frames_and_corpora(tmp_path: Path, plain: Corpus) -> None:
    rows = {"body": texts_of(plain), "stars": [plain.classes[i] for i in plain.labels]}
    file = tmp_path / "films.csv"
    file.write_text("\n".join(["body,stars", *(f"{t},{s}" for t, s in zip(*rows.values(), strict=True))]))
    saved = plain.save(tmp_path / "saved.parquet")
    sources = {
        "films": attentest.load(file, text="body", label="stars", plant=0.5),
        "frame": attentest.load(rows, text="body", label="stars", name="frame", plant=0.5),
    }
    assert sources["films"].fingerprint() == sources["frame"].fingerprint()
    sources["memory"] = attentest.load(plain, name="memory", plant=0.5)
    sources["saved"] = attentest.load(saved, name="saved", plant=0.5)
    assert sources["memory"].fingerprint() == sources["saved"].fingerprint()
    sources["planted"] = attentest.load("planted", rows=200, plant=0.5)
    for name, corpus in sources.items():
        assert corpus.name == f"{name}, planted"
        assert corpus.origin["plant"] == 0.5
        assert any("made-up word" in note for note in corpus.notes)
    assert "rationales of the corpus are left out" in sources["planted"].notes[-1]
    assert sum(map(bool, marked(sources["planted"]))) == pytest.approx(100, abs=2)


@pytest.mark.parametrize("share", [0, -0.1, 1.1, float("nan"), float("inf"), "half", True])
def test_a_share_that_is_none_is_refused(share: object, plain: Corpus) -> None:
    with pytest.raises(InputError, match="plant is"):
        attentest.load(plain, plant=share)  # type: ignore[arg-type]


def test_pairs_are_refused() -> None:
    with pytest.raises(InputError, match="for single texts"):
        attentest.load("babi1-generated", rows=100, plant=0.5)


def test_too_many_classes_are_refused(plain: Corpus) -> None:
    with pytest.raises(InputError, match="too few made-up words"):
        plant(replace(plain, classes=tuple(map(str, range(3000)))), 0.5)


def test_an_audit_takes_it_for_a_corpus_in_memory(plain: Corpus) -> None:
    planned = plan(plain, plant=0.5)
    assert planned.study.name == "audit of films, planted"
    assert "rationale" in planned.study.trials
    with pytest.raises(InputError, match="already loaded"):
        plan(plain, text="body", plant=0.5)
