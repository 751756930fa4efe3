"""The trial swaps, against a text-by-text twin and on models whose answer is known."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
import torch

import attentest
from attentest.chance import keyed_uniform
from attentest.corpora import build_corpus
from attentest.errors import InputError
from attentest.text.batches import batch_of_sequences
from attentest.trials import Subject, hold, make_trial, subject_of

SMALL = {"dimension": 16, "hidden": 8, "epochs": 6, "lr": 0.01}


@pytest.fixture(scope="module")
def harder() -> attentest.Run:
    """Distractors, texts of several lengths, three classes."""
    return attentest.train(attentest.load("planted", rows=400, difficulty=0.5, classes=3), **SMALL)  # type: ignore[arg-type]


def probabilities(subject: Subject, ids: np.ndarray) -> np.ndarray:
    with torch.no_grad():
        encoded = subject.model.encode(batch_of_sequences([ids]))
        return subject.model.decode(encoded, subject.model.attend(encoded))[0].softmax(-1).numpy()


def twin(subject: Subject, seed: int) -> list[dict[str, float | str]]:
    """One text after the other, in plain words."""
    data = subject.data
    assert data.rationale is not None
    marks = [data.rationale[a:b].tolist() for a, b in pairwise(data.sequences.offsets)]
    found = []
    for row in subject.rows.tolist():
        alike = [
            other
            for other in sorted(range(len(marks)), key=lambda r: (data.labels[r], r))
            if sum(marks[row]) and sum(marks[other]) == sum(marks[row]) and data.labels[other] != data.labels[row]
        ]
        nothing = float("nan")
        result: dict[str, float | str] = {"donor": "", "follows": nothing, "changes": nothing, "moved": nothing}
        result |= {"control_follows": nothing, "control_changes": nothing, "control_moved": nothing}
        found.append(result)
        if not alike:
            continue
        donor = alike[int(keyed_uniform(seed, "donor", np.array([row]), 1)[0, 0] * len(alike))]
        result["donor"] = subject.ids(np.array([donor]))[0]
        before = probabilities(subject, data.sequences[row])
        for prefix in ("", "control_"):
            places = []
            for of, purpose in ((row, "control places"), (donor, "control tokens")):
                if prefix:
                    drawn = keyed_uniform(seed, purpose, np.array([row]), len(marks[of]))[0]
                    free = [i for i, mark in enumerate(marks[of]) if not mark]
                    places.append(sorted(free, key=lambda i: drawn[i])[: sum(marks[row])])
                else:
                    places.append([i for i, mark in enumerate(marks[of]) if mark])
            count = min(map(len, places))
            if not count:
                continue
            ids = data.sequences[row].copy()
            for to, of in zip(*(sorted(some[:count]) for some in places), strict=True):
                ids[to] = data.sequences[donor][of]
            after = probabilities(subject, ids)
            result[f"{prefix}moved"] = float(np.abs(after - before).sum() / 2)
            result[f"{prefix}changes"] = float(after.argmax() != before.argmax())
            if before.argmax() != data.labels[donor]:
                result[f"{prefix}follows"] = float(after.argmax() == data.labels[donor])
    return found


def test_the_same_as_text_by_text(harder: attentest.Run) -> None:
    subject = replace(subject_of(harder), folder=None)
    (finding,) = hold([make_trial("swaps", seed=3)], subject)
    wanted = twin(subject, seed=3)
    for row, expected in zip(finding.table.to_pylist(), wanted, strict=True):
        for name, value in expected.items():
            assert row[name] == (value if isinstance(value, str) else pytest.approx(value, abs=1e-5, nan_ok=True)), name
    follows = np.array([row["follows"] for row in wanted], float)
    assert finding.summary["decisions that follow the swap"].value == pytest.approx(np.nanmean(follows))
    assert finding.summary["decisions that follow the swap"].n == (~np.isnan(follows)).sum()


def test_decisions_follow_planted_words_and_not_others() -> None:
    generator = np.random.default_rng(0)
    words = np.array([f"{a}{b}st" for a in "abcdefgh" for b in "abcdefgh"])
    texts = [" ".join(generator.choice(words, 10)) for _ in range(1000)]
    plain = build_corpus("chatter", {"text": texts, "label": ["x", "y"] * 500})
    run = attentest.train(attentest.load(plain, plant=0.8), **SMALL)  # type: ignore[arg-type]
    finding = attentest.trial("swaps", run)
    summary = finding.summary
    assert summary["decisions that follow the swap"].low > 0.7
    assert summary["decisions that follow the control swap"].high < 0.4
    assert summary["follow the swap − follow the control"].low > 0.3
    assert summary["change of the output"].value > summary["change of the output, control"].value
    planted = sum(any(marks or []) for marks in run.attention["rationale"].to_pylist())
    assert summary["decisions that change"].n == planted
    assert any(note.startswith(f"{run.predictions.num_rows - planted:,} texts are left out") for note in finding.notes)
    assert finding.charts


def test_a_model_that_never_changes_its_mind_follows_nothing(harder: attentest.Run) -> None:
    subject = subject_of(attentest.open_run(harder.path))
    with torch.no_grad():
        subject.model.get_parameter("decoder.weight").zero_()  # type: ignore[attr-defined]
    (finding,) = hold([make_trial("swaps")], replace(subject, folder=None))
    for entry in ("decisions that follow the swap", "decisions that change", "change of the output"):
        assert finding.summary[entry].value == pytest.approx(0, abs=1e-7)
    assert any("already" in note for note in finding.notes)


def test_one_class_among_the_texts_has_no_donors(harder: attentest.Run) -> None:
    subject = subject_of(harder)
    alone = replace(subject.data, labels=np.zeros_like(subject.data.labels))
    (finding,) = hold([make_trial("swaps")], replace(subject, data=alone, folder=None))
    assert finding.summary["decisions that follow the swap"].n == 0
    assert not finding.charts
    assert set(finding.table["donor"].to_pylist()) == {""}


def test_without_rationales_it_is_refused(harder: attentest.Run) -> None:
    subject = subject_of(harder)
    bare = replace(subject, data=replace(subject.data, rationale=None))
    assert not make_trial("swaps").fits(bare)
    with pytest.raises(InputError, match="has no rationales, which the trial swaps needs"):
        hold([make_trial("swaps")], bare)


def test_pairs_and_sentences() -> None:
    asked = attentest.train(attentest.load("babi1-generated", rows=120), epochs=1, dimension=8, hidden=4)
    assert attentest.trial("swaps", asked).summary["change of the output"].n > 0
    han = attentest.train(
        attentest.load("planted", rows=120), epochs=1, dimension=8, hidden=4, structure="hierarchical"
    )
    by_site = [attentest.trial("swaps", han, site=site).table["moved"].to_pylist() for site in ("word", "sentence")]
    assert by_site[0] == pytest.approx(by_site[1], abs=1e-6, nan_ok=True)
