"""The trial alignment: links from the largest weights, counted as by hand and as by plain loops."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from tiny_translators import TINY, toy_corpus, toy_pairs

import attentest
from attentest.errors import InputError
from attentest.translation.links import LinkedPair
from attentest.translation.pieces import shares_of_words
from attentest.translation.run import TranslationRun
from attentest.trials import make_trial
from attentest.trials.of_translation import alignment
from attentest.trials.of_translation.alignment import AGREEMENT, ERROR, Alignment
from attentest.trials.of_translation.subject import translation_subject

ROWS = 60


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, TranslationRun]:
    folder = tmp_path_factory.mktemp("aligned")
    small: dict[str, Any] = {**TINY, "epochs": 1, "select_by": "loss"}
    across = {"hidden": 16, "heads": 2, "layers": 2, "wide": 16, "tokenizer": "subword", "vocabulary": 40}
    return {
        "luong": attentest.train_translation(toy_corpus(ROWS), folder / "rnn", model="luong", **small),
        "transformer": attentest.train_translation(
            toy_corpus(ROWS), folder / "tf", model="transformer", **(small | across)
        ),
    }


@pytest.fixture
def links(tmp_path: Path) -> Path:
    """Sentences with a blank before the full stop, upper case, and links that are not all sure."""
    pairs = [tuple(side.replace(".", " .").title() for side in pair) for pair in toy_pairs(ROWS)]
    table = {"source": [a for a, _ in pairs], "target": [b for _, b in pairs]}
    pq.write_table(pa.table({**table, "alignment": ["0-0 1-1 2-2 3p2 3-3"] * ROWS}), tmp_path / "links.parquet")
    return tmp_path / "links.parquet"


def pair(source: str, target: str, sure: set[tuple[int, int]], possible: set[tuple[int, int]]) -> LinkedPair:
    return LinkedPair(tuple(source.split()), tuple(target.split()), frozenset(sure), frozenset(sure | possible))


def as_words(linked: LinkedPair, source: list[tuple[int, int]], target: list[tuple[int, int]]) -> Any:
    shares = [shares_of_words(" ".join(w), s, w) for w, s in ((linked.source, source), (linked.target, target))]
    assert shares[0] is not None
    assert shares[1] is not None
    return alignment._words(shares[0], shares[1], linked)


def concluded(trial: Alignment, columns: dict[str, np.ndarray]) -> dict[str, Any]:
    return dict(trial.conclude(pa.table(columns)).summary)


def test_alignment_error_rate_worked_by_hand() -> None:
    """Three target words, linked to source words 0, 2, 2 by the weights; sure 0-0, 1-1, possible 2-2, and S ⊆ P:
    |A ∩ S| = 1, |A ∩ P| = 2, |A| = 3, |S| = 2, so 1 − (1 + 2) / (3 + 2) = 0.4 (Och & Ney 2003)."""
    linked = pair("a b c", "x y z", {(0, 0), (1, 1)}, {(2, 2)})
    words = as_words(linked, [(0, 1), (2, 3), (4, 5)], [(0, 1), (2, 3), (4, 5)])
    weights = torch.tensor([[[[0.8, 0.1, 0.1], [0.1, 0.2, 0.7], [0.2, 0.2, 0.6], [0.1, 0.6, 0.3]]]])
    found = alignment._counted([words, words], {"cross": weights.expand(2, -1, -1, -1)})
    assert [found[name].tolist() for name in ("target words", "sure links")] == [[3, 3], [2, 2]]
    people = concluded(Alignment(links="a", made_by="people"), found)
    assert people[f"{ERROR}, cross, emitting step"].value == pytest.approx(0.4)
    # at the step after each word the weights say 2, 2, 1: |A ∩ S| = 0, |A ∩ P| = 0
    assert people[f"{ERROR}, cross, next step"].value == pytest.approx(1.0)
    # the diagonal says 0, 1, 2: |A ∩ S| = 2, |A ∩ P| = 3, all there is
    assert people[f"{ERROR}, diagonal"].value == pytest.approx(0.0)
    assert people[f"{ERROR} minus diagonal, cross, emitting step"].value == pytest.approx(0.4)
    assert people["precision, cross, emitting step"].value == pytest.approx(2 / 3)
    assert people["recall, cross, emitting step"].value == pytest.approx(1 / 2)
    aligner = concluded(Alignment(links="a"), found)
    assert aligner[f"{AGREEMENT}, cross, emitting step"].value == pytest.approx(0.6)
    assert aligner[f"{AGREEMENT} minus diagonal, cross, emitting step"].value == pytest.approx(-0.4)
    assert not [name for name in aligner if ERROR in name]
    assert not [name for name in people if AGREEMENT in name]


def test_pieces_of_a_source_word_add_up_and_those_of_a_target_word_are_averaged() -> None:
    """Source ab|c as a|b|c: no piece of ab is the heaviest, but their sum is. Target xy as x|y: 0.4 and 0.2 on c make
    0.3, less than 0.7 on ab."""
    linked = pair("ab c", "xy", {(0, 0)}, set())
    words = as_words(linked, [(0, 1), (1, 2), (3, 4)], [(0, 1), (1, 2)])
    weights = torch.tensor([[[[0.3, 0.3, 0.4], [0.4, 0.4, 0.2], [0.1, 0.1, 0.8]]]])
    best = alignment._best([words], weights, torch.tensor([[True, True]]))
    assert best["emitting step"].tolist() == [[[0], [0]]]
    heavier = torch.tensor([[[[0.3, 0.3, 0.4], [0.2, 0.2, 0.6], [0.1, 0.1, 0.8]]]])
    assert alignment._best([words], heavier, torch.tensor([[True, True]]))["next step"].tolist() == [[[1], [1]]]


@pytest.mark.parametrize(
    ("target", "source", "expected"), [(3, 3, [0, 1, 2]), (2, 4, [0, 2]), (4, 2, [0, 1, 1, 1]), (3, 1, [0, 0, 0])]
)
def test_the_diagonal(target: int, source: int, expected: list[int]) -> None:
    """round(j · I / J): of 4 target and 2 source words 0, ½, 1, 1½, so 0, 1, 1, 2, of which the last is too far."""
    assert alignment._diagonal(torch.tensor([target]), torch.tensor([source]), target).tolist() == [expected]


def by_loops(run: TranslationRun, text: str, reference: str, linked: LinkedPair) -> dict[str, float]:
    """One pair, word by word and token by token."""
    (forced,) = run.force(text, reference)
    sides = []
    for tokens, sentence, words in (
        (run.source_tokens, text, linked.source),
        (run.target_tokens, reference, linked.target),
    ):
        letters_of_words = [place for place, word in enumerate(words) for _ in word]
        letters = [place for place, character in enumerate(sentence) if character != " "]
        of_tokens: list[list[int]] = []
        for start, end in tokens.spans(sentence):
            inside = [letters_of_words[n] for n, place in enumerate(letters) if start <= place < end]
            of_tokens.append(inside)
        sides.append(of_tokens)
    found = {"target words": float(len(linked.target)), "sure links": float(len(linked.sure))}
    for site, weights in forced.weights.items():
        if site.partition(".")[0] not in ("cross", "across"):
            continue
        views = {site: weights.mean(0)}
        if len(weights) > 1:
            views |= {f"{site} head {head}": rows for head, rows in enumerate(weights)}
        for view, rows in views.items():
            for late, step in enumerate(("emitting step", "next step")):
                made = set()
                for j in range(len(linked.target)):
                    pieces = [t for t, parts in enumerate(sides[1]) if j in parts]
                    heat = [0.0] * len(linked.source)
                    for t in pieces:
                        for k, parts in enumerate(sides[0]):
                            for i in parts:
                                heat[i] += float(rows[t + late][k]) / len(parts) / len(pieces)
                    made.add((heat.index(max(heat)), j))
                found[f"links found, {view}, {step}"] = len(made & linked.possible)
                found[f"sure links found, {view}, {step}"] = len(made & linked.sure)
    return found


@pytest.mark.parametrize("kind", ["luong", "transformer"])
def test_the_trial_counts_as_plain_loops_do(runs: dict[str, TranslationRun], links: Path, kind: str) -> None:
    subject = replace(translation_subject(runs[kind]), folder=None)
    trial = make_trial("alignment", links=str(links))
    assert isinstance(trial, Alignment)
    columns = trial.columns(subject, lambda done, total: None)
    known = {(one.source, one.target): one for one in trial._read()}
    for place, texts in enumerate(zip(subject.source_texts, subject.references, strict=True)):
        cut = tuple(tuple(side.replace(".", " .").title().split()) for side in texts)
        expected = by_loops(runs[kind], texts[0], texts[1], known[cut])  # type: ignore[index]
        assert {name: columns[name][place] for name in expected} == expected
    assert len(columns) == len(expected) + 2  # the diagonal


@pytest.mark.parametrize("kind", ["luong", "transformer"])
def test_batches_and_their_order_change_nothing(
    runs: dict[str, TranslationRun], links: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject = replace(translation_subject(runs[kind]), folder=None)
    trial = Alignment(links=str(links))
    together = trial.columns(subject, lambda done, total: None)

    def alone_and_backwards(lengths: np.ndarray) -> list[np.ndarray]:
        return [np.array([place]) for place in reversed(range(len(lengths)))]

    monkeypatch.setattr("attentest.trials.of_translation.subject.by_length", alone_and_backwards)
    alone = trial.columns(subject, lambda done, total: None)
    assert together.keys() == alone.keys()
    for name, values in together.items():
        assert np.array_equal(values, alone[name]), name


def test_a_finding_says_what_was_left_out_and_shows_charts(
    runs: dict[str, TranslationRun], links: Path, tmp_path: Path
) -> None:
    table = pq.read_table(links)
    test = {"".join(text.split()).lower() for text in runs["transformer"].translations["source"].to_pylist()}
    dropped = next(text for text in table["source"].to_pylist() if "".join(text.split()).lower() in test)
    some = table.filter(pa.array([text != dropped for text in table["source"].to_pylist()]))
    pq.write_table(some, tmp_path / "some.parquet")
    run = attentest.open_translation(shutil.copytree(runs["transformer"].path, tmp_path / "own"))
    finding = attentest.trial("alignment", run, links=str(tmp_path / "some.parquet"))
    (note,) = finding.notes
    assert "test pairs have no links, or were cut, and are left out." in note
    assert set(finding.charts) == {
        f"{AGREEMENT} by layer",
        f"{AGREEMENT} by head, emitting step",
        f"{AGREEMENT} by head, next step",
    }
    drawn = finding.svg()
    assert drawn.count(">the diagonal<") == 1
    assert drawn.index(">across.0<") < drawn.index(">across.1<")
    assert "agreement with an automatic aligner is " in finding.answer
    assert (run.path / "trials" / "alignment" / "finding.json").is_file()


def test_the_command(command: Callable[..., Any], runs: dict[str, TranslationRun], links: Path, tmp_path: Path) -> None:
    run = shutil.copytree(runs["luong"].path, tmp_path / "own")
    answer = command("trial", "alignment", run, "-o", f"links={links}", "-o", "made_by=people", "--json")
    assert answer.code == 0, answer.err
    assert f"{ERROR}, cross, next step" in json.loads(answer.out)["summary"]
    other = tmp_path / "other.parquet"
    pq.write_table(pa.table({"source": ["a"], "target": ["b"], "alignment": ["0-0"]}), other)
    for options, said in (
        ([], "Give them as the setting links (-o links=FILE)"),
        (["-o", f"links={other}"], "has links for none of the"),
        (["-o", f"links={links}", "-o", "first=1"], "row 1: the link '0-0' is out of range"),
        (["-o", f"links={links}", "-o", "made_by=me"], "Unknown made_by 'me'"),
        (["-o", f"links={tmp_path / 'nothing.parquet'}"], "nothing.parquet"),
    ):
        refused = command("trial", "alignment", run, *options)
        assert refused.code == 2, options
        assert said in refused.err, refused.err


def test_without_links_it_does_not_apply(runs: dict[str, TranslationRun]) -> None:
    with pytest.raises(InputError, match="it needs links between words"):
        attentest.trial("alignment", runs["luong"])
