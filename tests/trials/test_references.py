"""References for the figures of a verdict, from the same run: against loops, and on models whose truth is known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import torch
from hand_model import HandModel, OpaqueModel, random_readings, reading_of
from quick import QUICK
from scipy.stats import kendalltau

import attentest
from attentest.interventions import permuted
from attentest.trials import TRIALS, subject_of
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.base import Columns
from attentest.trials.correlation import Correlation
from attentest.trials.importance_sets import LEFT_OUT, ImportanceSets, first_flip
from attentest.trials.permutation import Permutation
from attentest.trials.reading import Reading, readings
from attentest.trials.reduced_weights import most_attended_and_random
from attentest.trials.removal import Flips, Removal
from attentest.trials.scores import ScoreSettings, hidden_leave_one_out, ranked
from attentest.trials.uniform import Uniform


def table_of(columns: Columns, reading: Reading) -> pa.Table:
    return pa.table({**columns, "predicted": ["a"] * len(reading.batch), "bin": ["[0, .25)"] * len(reading.batch)})


def output(reading: Reading, text: int, weights: np.ndarray) -> np.ndarray:
    padded = torch.zeros(1, 1, reading.mask.shape[1])
    padded[0, 0, : len(weights)] = torch.from_numpy(weights).float()
    return reading.decode(padded, torch.tensor([text]))[0, 0].softmax(-1).double().numpy()


@pytest.mark.parametrize("exact", [True, False])
def test_the_same_weight_on_a_random_item_against_loops(exact: bool) -> None:
    reading = random_readings(30, 6, 3)[0 if exact else 1]
    removal, flips = Removal().examine(reading), Flips().examine(reading)
    items = most_attended_and_random(reading, 0).tolist()
    for text, (heaviest, random) in enumerate(items):
        own = reading.weights[text, : int(reading.lengths[text])].double().numpy()
        other = own.copy()
        other[[heaviest, random]] = own[[random, heaviest]]
        lost = []
        for weights, gone in ((own, heaviest), (other, random)):
            left = np.delete(weights, gone)
            rest = np.insert(left / left.sum(), gone, 0) if left.sum() > 0 else weights
            before, after = output(reading, text, weights), output(reading, text, rest)
            lost.append(before.max() - after[before.argmax()])
            flipped = bool(before.argmax() != after.argmax())
        assert removal["lost_heaviest"][text] == pytest.approx(lost[0], abs=1e-5)
        assert removal["lost_same_weight"][text] == pytest.approx(lost[1], abs=1e-5)
        assert flips["flip_same_weight"][text] == flipped


def test_all_weight_on_one_item_leaves_both_maps_as_they_are() -> None:
    reading = reading_of(HandModel([[2.0, -1.0, 0.5]], [[1.0, 0.0, 0.0]]))
    columns = Removal().examine(reading)
    assert columns["lost_heaviest"].tolist() == columns["lost_same_weight"].tolist() == [0.0]


@pytest.mark.slow
def test_weight_alone_does_not_count_but_where_it_is() -> None:
    corpus = attentest.load("planted", rows=6000, difficulty=0.3)
    found = {}
    for projection in ("sparsemax", "random"):
        run = attentest.train(corpus, encoder="average", projection=projection, epochs=4)
        found[projection] = attentest.trial("removal", run).summary
    key, old = Removal.keys["mass-matched"], Removal.keys["difference"]
    assert found["random"][old].low > 0  # the old figure is above 0 for weights that know nothing
    assert found["random"][key].low <= 0
    assert found["sparsemax"][key].low > 0


@pytest.mark.parametrize("kind", [HandModel, OpaqueModel])
def test_decisions_changed_and_entropy_by_hand(kind: type[OpaqueModel]) -> None:
    # margins under the weights: .8·1 − .2·2 = .4, and −.4 uniform: changed; 1 and 1: not changed
    reading = reading_of(kind([[1.0, -2.0], [1.0, 1.0]], [[0.8, 0.2], [0.5, 0.5]]))
    columns = Uniform().examine(reading)
    assert columns["changed_uniform"].tolist() == [True, False]
    expected = -(0.8 * np.log(0.8) + 0.2 * np.log(0.2)) / np.log(2)
    assert columns["entropy"].tolist() == pytest.approx([expected, 1.0], abs=1e-6)
    summary = Uniform().conclude(table_of(columns, reading)).summary
    assert summary[Uniform.keys["decisions"]].value == 0.5
    assert summary[Uniform.keys["entropy"]].value == pytest.approx((expected + 1) / 2, abs=1e-6)
    lost = summary[Uniform.keys["lost"]]  # both labels are 1
    assert lost.value == 0.5
    assert -lost.high == pytest.approx(summary["difference, uniform"].low)


def test_decisions_changed_by_a_permutation() -> None:
    # two items: a permutation leaves them or exchanges them; margins 1 and −3: .9 − .3 > 0, .1 − 2.7 < 0
    texts = 200
    reading = reading_of(HandModel([[1.0, -3.0]] * texts, [[0.9, 0.1]] * texts))
    columns = Permutation(permutations=3).examine(reading)
    summary = Permutation(permutations=3).conclude(table_of(columns, reading)).summary
    assert 0.4 < summary[Permutation.keys["decisions"]].value < 0.6
    steady = reading_of(HandModel([[1.0, 2.0]] * 5, [[0.9, 0.1]] * 5))
    assert not Permutation(permutations=3).examine(steady)["changed"].any()


def test_positions_of_importance_sets_are_ratios_of_means() -> None:
    reading, _ = random_readings(600, 8, 1)
    columns = ImportanceSets().examine(reading)
    expected = (first_flip(reading, hidden_leave_one_out(reading)) / reading.lengths).numpy()
    assert columns[LEFT_OUT] == pytest.approx(expected, nan_ok=True)
    summary = ImportanceSets().conclude(table_of(columns, reading)).summary
    means = {name: float(np.nan_to_num(columns[name], nan=1.0).mean()) for name in columns}
    gained = means["random"] - means["attention"]
    position = summary[ImportanceSets.keys["position"]]
    assert position.value == pytest.approx(gained / (means["random"] - means[LEFT_OUT]))
    best = min(means[name] for name in ("attention-gradient", "attention-times-gradient", LEFT_OUT))
    assert summary[ImportanceSets.keys["position of the best"]].value == pytest.approx(
        gained / (means["random"] - best)
    )


def test_null_and_position_of_correlation_against_loops(own_run: attentest.Run) -> None:
    finding = attentest.trial("correlation", own_run, measures=("gradient-input-fixed", "leave-one-out"))
    table, summary, keys = finding.table.to_pydict(), finding.summary, Correlation.keys
    for key, name in (("gradient", "gradient-input-fixed"), ("leave-one-out", "leave-one-out")):
        own, null = (np.array(table[c], float) for c in (f"tau attention – {name}", f"null {name}"))
        ceiling = np.array(table["tau gradient-input-fixed – leave-one-out"], float)
        assert summary[keys[f"{key} null"]].value == pytest.approx(np.nanmean(null))
        there = ~np.isnan(own) & ~np.isnan(null) & ~np.isnan(ceiling)
        expected = (own - null)[there].mean() / (ceiling - null)[there].mean()
        position = summary[keys[f"{key} position"]]
        assert np.isnan(position.value) or position.value == pytest.approx(expected)


def test_the_null_of_correlation_is_the_tau_of_permuted_weights(own_run: attentest.Run) -> None:
    subject = subject_of(own_run, texts=12)
    trial = Correlation(measures=("leave-one-out",), seed=5)
    examiner = trial.examiner(subject)
    for reading in readings(subject.model, subject.data, subject.rows):
        null = examiner.examine(reading)["null leave-one-out"]
        importance = ranked(reading, "leave-one-out", ScoreSettings(seed=5))
        shuffled = permuted(reading.weights, reading.mask, reading.rows, 5)
        for text, length in enumerate(reading.lengths.tolist()):
            pair = (values[text, :length].detach().numpy() for values in (shuffled, importance))
            assert null[text] == pytest.approx(kendalltau(*pair).statistic, nan_ok=True)


def test_whether_the_adversary_is_proven_or_searched_for() -> None:
    reading, opaque = random_readings(8, 5, 0)
    for of, trial, exact in (
        (reading, InstanceAdversary(epsilon=0.01), 1.0),
        (opaque, InstanceAdversary(epsilon=0.01, steps=20), 0.0),
    ):
        conclusion = trial.conclude(table_of(trial.examine(of), of))
        assert conclusion.summary[InstanceAdversary.keys["exact"]].value == exact
        assert any("lower bounds" in note for note in conclusion.notes) == (exact == 0)
        assert ("at least" in conclusion.answer) == (exact == 0)


@pytest.mark.parametrize(
    "name", ["information", "correlation", "uniform", "permutation", "removal", "flips", "importance-sets"]
)
def test_each_key_is_an_entry_of_the_summary(own_run: attentest.Run, name: str) -> None:
    assert name in TRIALS
    finding = attentest.trial(name, own_run, **QUICK.get(name, {}))
    kind = attentest.trials.trial_class(name)
    assert set(kind.keys.values()) <= set(finding.summary)
