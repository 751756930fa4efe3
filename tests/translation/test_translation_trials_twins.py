"""Each trial of translation runs against a plain twin: one pair, one step and one change at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median

import numpy as np
import pytest
import sacrebleu
import torch
from translation_subjects import (
    ModelKinds,
    Weights,
    best,
    dropped,
    jsd_of,
    leave_all,
    looped,
    on_source,
    only_at,
    subject_on,
    trained,
    tvd_of,
    uniform,
    without,
)

from attentest.chance import keyed_rows, keyed_uniform
from attentest.layer_interventions import DROPPED, UNIFORM
from attentest.translation.interventions import Intervention
from attentest.translation.search import greedy
from attentest.translation.settings import TranslationModel
from attentest.trials.of_translation.hold import hold_on_translation
from attentest.trials.of_translation.layers import TranslationLayers
from attentest.trials.of_translation.one_step import position_of
from attentest.trials.of_translation.permutation import TranslationPermutation
from attentest.trials.of_translation.removal import TranslationRemoval
from attentest.trials.of_translation.subject import TranslationSubject
from attentest.trials.of_translation.uniform import TranslationUniform
from attentest.trials.of_translation.words import VARIANTS as WORD_VARIANTS
from attentest.trials.of_translation.words import TranslationWords

ROUNDING = 1e-9  # of sums in float64 in another order
SEED = 3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return trained(tmp_path_factory.mktemp("twins") / "run")


@pytest.fixture(autouse=True)
def without_gradients() -> Iterator[None]:
    """As trials are held."""
    with torch.no_grad():
        yield


def pairs_of(subject: TranslationSubject) -> list[tuple[list[int], list[int]]]:
    return [(subject.sources[i].tolist(), subject.targets[i].tolist()) for i in range(len(subject))]


def watched(done: int, total: int) -> None:
    assert 0 <= done <= total


@pytest.mark.parametrize("kind", ModelKinds)
def test_uniform_at_a_forced_prefix(kind: str, folder: Path) -> None:
    subject = subject_on(folder, kind)
    columns = TranslationUniform(seed=SEED).columns(subject, watched)
    for place, (source, target) in enumerate(pairs_of(subject)):
        own = looped(subject.model, source, target, leave_all)
        for name, change in ((UNIFORM, uniform), (DROPPED, dropped)):
            new = looped(subject.model, source, target, on_source(subject.model, change))
            moved = fmean(tvd_of(p, q) for p, q in zip(own, new, strict=True))
            assert columns[f"mean TVD, {name}"][place] == pytest.approx(moved, abs=ROUNDING)
            flips = fmean(best(p) != best(q) for p, q in zip(own, new, strict=True))
            assert columns[f"steps changed, {name}"][place] == pytest.approx(flips)
            score = fmean(math.log(q[t]) - math.log(p[t]) for p, q, t in zip(own, new, target, strict=True))
            assert columns[f"change of log-probability, {name}"][place] == pytest.approx(score, abs=1e-7)


@pytest.mark.parametrize("kind", ModelKinds)
def test_bleu_is_that_of_each_sentence_translated_alone(kind: str, folder: Path) -> None:
    subject = subject_on(folder, kind)
    (finding,) = hold_on_translation([TranslationUniform(seed=SEED)], subject)
    for name in ("uniform", "random", "permuted", "dropped"):
        steps = Intervention(name, subject.model.source_sites, seed=SEED).steps
        alone = []
        for place, row in enumerate(subject.rows):
            ids = torch.tensor([subject.sources[place].tolist()])
            (found,) = greedy(subject.model, ids, torch.ones_like(ids, dtype=torch.bool), np.array([row]), steps)
            alone.append(subject.run.target_tokens.text(found.tokens))
        assert finding.table[f"translation, {name}"].to_pylist() == alone
        right = sacrebleu.corpus_bleu(alone, [subject.references], force=True, lowercase=True).score
        assert finding.summary[f"BLEU, {name}"].value == pytest.approx(right, abs=ROUNDING)
        gap = finding.summary[f"difference, {name}"].value
        assert gap == pytest.approx(right - finding.summary["BLEU"].value, abs=ROUNDING)
    own = finding.table["translation"].to_pylist()
    right = sacrebleu.corpus_bleu(own, [subject.references], force=True, lowercase=True).score
    assert finding.summary["BLEU"].value == pytest.approx(right, abs=ROUNDING)


@pytest.mark.parametrize("kind", ModelKinds)
def test_permutations_of_one_step(kind: str, folder: Path) -> None:
    subject = subject_on(folder, kind)
    model, position = subject.model, position_of(subject)
    columns = TranslationPermutation(permutations=6, seed=SEED).columns(subject, watched)
    for place, (source, target) in enumerate(pairs_of(subject)):
        if len(target) - 1 < position:
            assert math.isnan(columns["median_tvd"][place])
            assert columns["bin"][place] == ""
            continue
        seen: list[Weights] = []

        def look(site: str, step: int, weights: Weights, seen: list[Weights] = seen) -> None:
            if site in model.source_sites and step == position - 1:
                seen.append(weights)

        own = looped(model, source, target, look)[position - 1]
        attention = torch.cat(seen).mean(0)
        assert columns["max_attention"][place] == pytest.approx(float(attention.max()), abs=ROUNDING)
        moved, flips = [], []
        for number in range(6):
            key = np.array([subject.rows[place] * 2**20 + number])

            def shuffle(site: str, weights: Weights, key: np.ndarray = key) -> Weights:
                drawn = 1 - keyed_rows(SEED, f"permutations, {site}", key, tuple(weights.shape))[0]
                orders = [sorted(range(weights.shape[1]), key=lambda i: head[i]) for head in drawn]
                return torch.stack([row[order] for row, order in zip(weights, orders, strict=True)])

            new = looped(model, source, target, only_at(position - 1, model.source_sites, shuffle))[position - 1]
            moved.append(tvd_of(own, new))
            flips.append(best(own) != best(new))
        assert columns["median_tvd"][place] == pytest.approx(median(moved), abs=ROUNDING)
        assert columns["changed"][place] == pytest.approx(fmean(flips))


@pytest.mark.parametrize("kind", ModelKinds)
def test_removal_at_one_step(kind: str, folder: Path) -> None:
    subject = subject_on(folder, kind)
    model, position = subject.model, position_of(subject)
    columns = TranslationRemoval(seed=SEED).columns(subject, watched)
    some = 0
    for place, (source, target) in enumerate(pairs_of(subject)):
        if len(target) - 1 < position or len(source) < 2:
            continue
        some += 1
        seen: list[Weights] = []

        def look(site: str, step: int, weights: Weights, seen: list[Weights] = seen) -> None:
            if site in model.source_sites and step == position - 1:
                seen.append(weights)

        own = looped(model, source, target, look)[position - 1]
        attention = torch.cat(seen).mean(0).tolist()
        top = max(range(len(source)), key=lambda i: attention[i])
        others = [i for i in range(len(source)) if i != top]
        drawn = keyed_uniform(SEED, "random item", subject.rows[[place]], 1)[0, 0]
        random = others[int(drawn * len(others))]

        def exchange(weights: Weights, top: int = top, random: int = random) -> Weights:
            new = weights.clone()
            new[:, top], new[:, random] = weights[:, random], weights[:, top]
            return new

        def step(change, source=source, target=target) -> list[float]:  # type: ignore[no-untyped-def]
            at = only_at(position - 1, model.source_sites, lambda site, weights: change(weights))
            return looped(model, source, target, at)[position - 1]

        no_top, no_random = step(lambda w, i=top: without(w, i)), step(lambda w, i=random: without(w, i))
        swapped = step(exchange)
        swapped_without = step(lambda w, i=random, change=exchange: without(change(w), i))
        js = jsd_of(own, no_top), jsd_of(own, no_random)
        assert columns["js_heaviest"][place] == pytest.approx(js[0], abs=ROUNDING)
        assert columns["js_random"][place] == pytest.approx(js[1], abs=ROUNDING)
        assert columns["delta_js"][place] == pytest.approx(js[0] - js[1], abs=ROUNDING)
        assert columns["delta_attention"][place] == pytest.approx(attention[top] - attention[random], abs=ROUNDING)
        lost = own[best(own)] - no_top[best(own)]
        assert columns["lost_heaviest"][place] == pytest.approx(lost, abs=ROUNDING)
        lost = swapped[best(swapped)] - swapped_without[best(swapped)]
        assert columns["lost_same_weight"][place] == pytest.approx(lost, abs=ROUNDING)
    assert some > 3


@pytest.mark.parametrize("kind", ModelKinds)
def test_words_at_their_own_steps(kind: str, folder: Path) -> None:
    subject = subject_on(folder, kind, rows=[7, 1, 4, 2])
    model = subject.model
    known = set(subject.run.target_tokens.known[4:8])  # type: ignore[attr-defined]
    columns = TranslationWords(function_words=4, seed=SEED).columns(subject, watched)
    for place, one in enumerate(subject.own_translations):
        source, tokens = subject.sources[place].tolist(), list(one.tokens)
        names = subject.run.target_tokens.names(tokens)
        assert columns["function words"][place] == sum(name in known for name in names)
        assert columns["content words"][place] == sum(name not in known for name in names)
        for variant in WORD_VARIANTS:
            steps = Intervention(variant, model.source_sites, seed=SEED).steps(subject.rows[[place]])
            kept = {"function words": 0, "content words": 0}
            for number, token in enumerate(tokens):

                def change(site: str, weights: Weights, number: int = number, steps=steps) -> Weights:  # type: ignore[no-untyped-def]
                    rows = weights[None, :, None]
                    new = steps(number)(site, rows, torch.ones_like(rows, dtype=torch.bool))
                    assert new is not None
                    changed: Weights = new[0, :, 0]
                    return changed

                found = looped(model, source, [*tokens[: number + 1]], only_at(number, model.source_sites, change))
                if best(found[number]) == token:
                    kept["function words" if names[number] in known else "content words"] += 1
            for group, count in kept.items():
                assert columns[f"{group} kept, {variant}"][place] == count


@pytest.mark.parametrize("layers", [1, 3])
def test_layers_one_pair_at_a_time(layers: int, folder: Path) -> None:
    settings = TranslationModel(model="transformer", hidden=8, heads=2, layers=layers, wide=8)
    subject = subject_on(folder, settings)
    model = subject.model
    trial = TranslationLayers(kinds=("uniform", "permuted"), seed=SEED)
    (finding,) = hold_on_translation([trial], subject)
    chosen = {
        "uniform, all layers": model.sites,
        "uniform, 1 from below of encoder": ("encoder.0",),
        f"uniform, {layers} from above of decoder": tuple(f"decoder.{i}" for i in range(layers)),
        "uniform, 1 from above of across": (f"across.{layers - 1}",),
        "uniform, encoder.0": ("encoder.0",),
    }
    for name, sites in chosen.items():

        def change(site: str, step: int, weights: Weights, sites: tuple[str, ...] = sites) -> Weights | None:
            if site not in sites:
                return None
            # a decoder's step sees itself and the steps before it; `looped` has no later ones
            return torch.full_like(weights, 1 / weights.shape[1])

        moved, flips = [], []
        for source, target in pairs_of(subject):
            own, new = (looped(model, source, target, at) for at in (leave_all, change))
            moved.append(fmean(tvd_of(p, q) for p, q in zip(own, new, strict=True)))
            flips.append(fmean(best(p) != best(q) for p, q in zip(own, new, strict=True)))
        assert finding.summary[f"mean TVD, {name}"].value == pytest.approx(fmean(moved), abs=ROUNDING)
        assert finding.summary[f"steps changed, {name}"].value == pytest.approx(fmean(flips), abs=ROUNDING)
        steps_of = subject.with_weights("uniform", sites)
        translations = [subject.run.target_tokens.text(one.tokens) for one in subject.translated(steps_of)]
        right = sacrebleu.corpus_bleu(translations, [subject.references], force=True, lowercase=True).score
        assert finding.summary[f"BLEU, {name}"].value == pytest.approx(right, abs=ROUNDING)
    stacks = ("encoder", "decoder", "across")
    for kind in trial.kinds:
        for stack in stacks:
            for direction in ("below", "above"):
                whole = finding.summary[f"BLEU, {kind}, {layers} from {direction} of {stack}"]
                assert whole == finding.summary[f"BLEU, {kind}, {layers} from below of {stack}"]
                assert f"BLEU by layers changed from {direction}, {stack}" in finding.charts
            for layer in range(layers):
                assert f"difference, {kind}, {stack}.{layer}" in finding.summary
