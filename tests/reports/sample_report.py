"""A report with a bit of everything, made up: what no real run has all at once."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from attentest.measures.intervals import Estimate
from attentest.reports.contents import Block, Figure, Instance, Report, Role, Section, Variant
from attentest.reports.first_screen import first_screen
from attentest.reports.summary_text import lead_of
from attentest.studies.directions import Replication
from attentest.studies.experiments.adversary import TrainedAdversary
from attentest.studies.experiments.seeds import Seeds
from attentest.studies.experiments.untrained import Untrained
from attentest.studies.results import ModelResult
from attentest.studies.verdict import Calibration, Rates, judge
from attentest.studies.verdict.calibration import TestRates
from attentest.studies.verdict.judge import Summaries
from attentest.trials import charts
from attentest.trials.adversary import InstanceAdversary
from attentest.trials.base import BIN_NAMES
from attentest.trials.charts.bars import bars_side_by_side
from attentest.trials.charts.files import svg_of
from attentest.trials.correlation import Correlation
from attentest.trials.erasure import Erasure
from attentest.trials.permutation import Permutation
from attentest.trials.rationale import Rationale
from attentest.trials.uniform import Uniform

ALERT = "<script>alert(1)</script><img src=x onerror=alert(2)>"
LONG_NAME = "class " + "x" * 5000
HOSTILE = [ALERT, "</script>", "\x00", "\u202egnihton", "👩‍👩‍👧", "שלום", "t" * 100_000, "&amp;", '"quoted"', "<!--"]
RIGHT_TO_LEFT = ["הסרט", "הזה", "היה", "טוב", "מאוד", "ואני", "ממליץ", "עליו"]
_REVIEW = (
    "The plot is thin , but the two leads are so wonderful together that one hardly minds ; a warm and funny film "
    "which never outstays its welcome , even if the last act borrows rather too much from better comedies ."
)
REVIEW = _REVIEW.split()
RESULT = ModelResult(
    corpus="movie reviews",
    classes=["negative", "positive"],
    texts=1066,
    notes=[],
    metrics={"accuracy": 0.764, "f1": 0.761, "auc": 0.84},
    test_rows={"negative": 533, "positive": 533},
    settings=None,
    instances=None,
    baseline={"accuracy": 0.771, "f1": 0.77, "auc": 0.85},
)


def report() -> Report:
    """A study: two blocks, hostile texts, published figures and directions."""
    return Report(
        title=f"Attention on trial, {ALERT}",
        kind="study",
        lead="On two corpora the attention of this BiLSTM is plausible; it is not exclusive, and needed on one only.",
        facts=[("models", "BiLSTM with additive attention"), ("corpora", "2"), ("seeds", "5"), ("took", "12 min")],
        notes=["12 rows were dropped: they have no text.", f"The step “train, seed 4” failed: {ALERT}"],
        blocks=[block("reviews", "BiLSTM on movie reviews", SURE), block("hostile", LONG_NAME, UNSURE, hostile=True)],
        figures=[figure("points", "F1 of all models")],
        directions=directions(),
        published=published(60),
        not_covered={"Table 5": "It needs people.", "MIMIC": "The data may not be had without a licence."},
        files={"all numbers (CSV)": "tables/all numbers & more.csv", "all numbers (Parquet)": "tables/all.parquet"},
    )


def audit(texts: int = 40, tokens: int = 120) -> Report:
    """One model, as many texts as a page shows."""
    maps = [instance(i, tokens) for i in range(texts)]
    made = block("model", "BiLSTM on movie reviews", SURE)
    one = replace(made, instances=maps, files={})
    return Report("Audit of a BiLSTM", "audit", lead_of([one]), [("budget", "quick")], ["12 rows were dropped."], [one])


def _of(value: float, n: int = 500, half: float = 0.02) -> Estimate:
    return Estimate(value, value - half, value + half, n)


def _summary(*figures: tuple[Any, str, Estimate]) -> Summaries:
    """Of a trial or experiment and the key of one of its entries."""
    found: dict[tuple[str, str], dict[str, Estimate]] = {}
    for asked, key, figure in figures:
        found.setdefault((asked.kind, asked.name), {})[asked.keys.get(key, key)] = figure
    return found


SURE = _summary(
    (Uniform, "accuracy", _of(0.91)),
    (Uniform, "decisions", _of(0.21)),
    (Uniform, "change", _of(-0.08)),
    (Uniform, "entropy", _of(0.6)),
    (Untrained, "change", _of(-0.05)),
    (Seeds, "agreement", _of(0.52, half=0.1)),
    (TrainedAdversary, "change", _of(-0.004, half=0.003)),
    (TrainedAdversary, "far", Estimate(0.5, math.nan, math.nan, 1)),
    (InstanceAdversary, "far", _of(0.83)),
    (InstanceAdversary, "furthest", _of(0.61, 498, 0.01)),
    (Permutation, "moved", _of(0.25)),
    (Erasure, "comprehensiveness", _of(0.12)),
    (Erasure, "comprehensiveness null", _of(0.08)),
    (Erasure, "comprehensiveness ceiling", _of(0.31)),
    (Erasure, "comprehensiveness position", _of(0.17, half=0.06)),
    (Erasure, "sufficiency position", _of(0.3, half=0.06)),
    (Correlation, "gradient", _of(0.49)),
    (Correlation, "leave-one-out", _of(0.36)),
    *((Correlation, f"τ attention – other measure {i}", _of(0.1 + i / 50, 12_345)) for i in range(14)),
    (Rationale, "heaviest", _of(0.9)),
    (Rationale, "more weight", _of(0.4)),
)
UNSURE = _summary(
    (Uniform, "change", _of(-0.01)),
    (Permutation, "moved", Estimate(math.nan, math.nan, math.nan, 0)),
    (Permutation, LONG_NAME, _of(1e-5)),
)
CONTROLS = {
    "positive": _summary((Erasure, "comprehensiveness position", _of(0.93)), (Seeds, "agreement", _of(0.97))),
    "random": _summary((Erasure, "comprehensiveness position", _of(0.01)), (Seeds, "agreement", _of(0.02))),
    f"deceptive {ALERT}": _summary((Erasure, "comprehensiveness position", _of(-0.12))),
}


def rates(*names: str) -> Calibration:
    """As if these tests had been measured on models of known truth."""
    measured = [Rates(400, 0.95, 0.03, 0.02, 0.12, 120)]
    one = TestRates(0.5, _of(0.96, 120), 0.97, 0.6, True, "", measured)
    return Calibration(dict.fromkeys(names, one))


QUESTIONS = {
    "uniform": "Does the model decide worse when every token has the same weight?",
    "adversary": "How far away are the furthest weights that give the same prediction?",
    "permutation": "Does the prediction change when the weights are shuffled?",
    "correlation": "Does attention agree with other measures of importance?",
    "rationale": "Does the weight lie where the reason is?",
}


def block(anchor: str, name: str, summaries: Summaries, *, hostile: bool = False) -> Block:
    instances = [instance(i, 30) for i in range(14)]
    if hostile:
        instances = [hostile_instance(), right_to_left_instance()]
    known = rates("faithful.comprehensiveness", "stable.seeds", "plausible.heaviest")
    verdicts = judge(summaries, controls=CONTROLS, rates=known)
    return Block(
        anchor=anchor,
        name=name,
        facts=[("texts", "5,000"), ("classes", f"negative, {LONG_NAME}" if hostile else "negative, positive")],
        verdicts=verdicts,
        sections=[section(*key, summary, hostile=hostile) for key, summary in summaries.items()],
        instances=instances,
        files={"CSV": "heat maps/texts.csv", "Parquet": "heat maps/texts.parquet"},
        first=first_screen(RESULT, summaries, verdicts, weak=hostile),
    )


def section(kind: str, name: str, summary: Mapping[str, Estimate], *, hostile: bool = False) -> Section:
    kinds = {
        "permutation": ["violins", "histogram", "panels"],
        "correlation": ["boxes", "scatter", "lines"],
        "rationale": ["bars", "ranks", "tradeoff"],
        "adversary": ["side by side"],
    }
    return Section(
        anchor=f"{kind}-{name}",
        kind=kind,
        name=name,
        question=QUESTIONS.get(name, f"What does {name} say?"),
        answer=f"{ALERT} is the answer." if hostile else "Yes: accuracy falls from 0.910 to 0.830.",
        source="Jain & Wallace 2019 §4.2.1, Fig. 6",
        how_to_read="Each point is a text. The further to the right, the more the prediction moved.",
        summary=summary,
        figures=[figure(f, f"{name}: {f}") for f in kinds.get(name, ["points" if kind == "experiment" else "cells"])],
        notes=["7 texts have one token only and are left out."],
        signature={"version": "0.4.0", "seed": 3, "corpus": {"hash": "ab12", "name": ALERT}, "model": {"hidden": 128}},
        files={"CSV": f"tables/{name} 100%.csv", "Parquet": f"tables/{name}.parquet"},
    )


def figure(kind: str, title: str) -> Figure:
    spec = specs()[kind]
    files = {"svg": f"figures/{kind}.svg", "png": f"figures/{kind}.png"}
    return Figure(title, "Texts by the value, one colour a predicted class.", spec, picture(kind), files)


@cache
def picture(kind: str) -> str:
    return svg_of(specs()[kind])


@cache
def specs() -> dict[str, Any]:
    draw = np.random.default_rng(0)
    rows = 400
    table = pa.table(
        {
            "bin": draw.choice(BIN_NAMES, rows),
            "predicted": draw.choice(["negative", "positive", ALERT], rows),
            "tvd": draw.beta(2, 5, rows),
            "jsd": 0.69 * draw.beta(5, 2, rows),
        }
    )
    said = "What is seen, in a sentence."
    jsd, tvd = (table[name].to_numpy() for name in ("jsd", "tvd"))
    groups = ["gradient", "leave-one-out", "attention × gradient"]
    curve = [
        {"series": g, "x": i / 10, "value": i * i / 100, "low": i * i / 110, "high": i * i / 90}
        for i in range(11)
        for g in groups
    ]
    cells = [{"x": a, "y": b, "share": draw.random()} for a in ("same", "flips") for b in ("same", "flips")]
    pointed = [row for i in range(4) for row in charts.interval(f"seed {i}", _of(0.9 + i / 100))]
    beside = [
        {"corpus": c, "model": m, "variant": v, **_of(0.8).as_dict()}
        for c in ("sst", "imdb")
        for m in ("BiLSTM", "CNN")
        for v in ("base", "uniform")
    ]
    kinds = ["trained adversary", "random seed", "uniform weights"]
    traded = [
        {"kind": draw.choice(kinds), "class": c, "lambda": i, "tvd": i / 20, "jsd": i / 10, "f1": 0.9}
        for i in range(6)
        for c in ("negative", "positive")
    ]
    return {
        "violins": charts.violins_by_bin(table, "tvd", "TVD", said),
        "histogram": charts.histograms({"JSD": jsd}, charts.class_groups(table), np.linspace(0, 0.7, 29), "JSD", said),
        "panels": charts.histograms(
            {"JSD": jsd, "TVD": tvd}, charts.class_groups(table), np.linspace(0, 1, 29), "distance", said
        ),
        "scatter": charts.scatter(table, "tvd", "jsd", "TVD", "JSD", said),
        "boxes": charts.boxes([row for g in groups for row in charts.box(g, draw.normal(0.4, 0.2, rows))], "τ", said),
        "lines": charts.lines(curve, "share removed", "flips", said),
        "points": charts.intervals(pointed, "F1", said, "model"),
        "bars": charts.bars(pointed, "F1", said, "model"),
        "ranks": charts.by_rank({"weight": np.linspace(1, 0, 40), "erasure": np.linspace(1, 0, 40) ** 2}, said),
        "tradeoff": charts.tradeoff(traded, said),
        "side by side": bars_side_by_side(beside, ("model", "variant"), "F1", said),
        "cells": charts.cross_table(cells, "heaviest", "random", ["same", "flips"], said),
    }


def instance(i: int, tokens: int) -> Instance:
    draw = random.Random(i)
    words = [REVIEW[(i + k) % len(REVIEW)] for k in range(tokens)]
    roles: tuple[Role, ...] = ("original", "permuted", "adversarial", "trained adversary")
    variants = [
        variant(
            role,
            weights(draw, tokens),
            predicted="positive",
            probability=0.9 - k / 100,
            tvd=0.0 if k == 0 else draw.random() / 3,
            jsd=0.0 if k == 0 else draw.random() * 0.69,
        )
        for k, role in enumerate(roles)
    ]
    marks = [k % 9 == 2 for k in range(tokens)]
    label = "negative" if i % 5 == 0 else "positive"
    cuts = {0: 3 * i, tokens // 2: i % 3, tokens: 1234 * (i % 2)}
    return Instance(f"test-{i}", label, words, [""] + [" "] * (tokens - 1), cuts, marks, variants)


def compared_instance(i: int, names: tuple[str, str]) -> Instance:
    draw = random.Random(i)
    size = len(REVIEW)
    jsd = (0.0, draw.random() * 0.69)
    shown = [
        variant("model", weights(draw, size), "positive", 0.9, jsd[k], jsd[k], name=name)
        for k, name in enumerate(names)
    ]
    return Instance(f"test-{i}", "positive", REVIEW, [""] + [" "] * (size - 1), {}, None, shown)


def variant(
    role: Role,
    weights: list[float],
    predicted: str,
    probability: float,
    tvd: float,
    jsd: float,
    name: str | None = None,
) -> Variant:
    return Variant(name or role, role, weights, predicted, probability, tvd, jsd)


def hostile_instance() -> Instance:
    draw = random.Random(1)
    size = len(HOSTILE)
    roles: tuple[Role, ...] = ("original", "adversarial")
    shown = [variant(role, weights(draw, size), LONG_NAME, 0.5, math.nan, 0.3) for role in roles]
    gaps = ["<b>"] + [" "] * (size - 1)
    return Instance(ALERT, LONG_NAME, HOSTILE, gaps, {}, None, shown, second=ALERT + "\u202e")


def right_to_left_instance() -> Instance:
    size = len(RIGHT_TO_LEFT)
    shown = [
        variant("original", [0.0] * size, "חיובי", 0.7, 0.0, 0.0),
        variant("permuted", [1 / size] * size, "חיובי", 0.7, 0.1, 0.2),
    ]
    return Instance("rtl", None, RIGHT_TO_LEFT, [""] + [" "] * (size - 1), {}, None, shown)


def weights(draw: random.Random, size: int) -> list[float]:
    drawn = [draw.expovariate(1) ** 3 for _ in range(size)]
    return [value / sum(drawn) for value in drawn]


def published(rows: int) -> list[dict[str, Any]]:
    made = []
    for i in range(rows):
        ours = None if i % 3 else 0.8 + i / 1000
        made.append(
            {
                "table": f"Table {2 + i % 3}",
                "corpus": ("sst", "imdb", "adr")[i % 3],
                "model": "BiLSTM",
                "variant": "base",
                "measure": f"F1 ({i})",
                "published": 0.83,
                "ours": ours,
                "low": None if ours is None else ours - 0.02,
                "high": None if ours is None else ours + 0.02,
                "difference": None if ours is None else ours - 0.83,
                "tolerance": 0.05,
                "within": None if ours is None else abs(ours - 0.83) <= 0.05,
            }
        )
    return made


def directions() -> list[Replication]:
    says = "The base model's weights guide a model without context better than its own."
    ours = {"found": 0.1, "the contrary": -0.1, "cannot be told": 0.0, "not tested": math.nan}
    return [
        Replication(corpus, says, "Wiegreffe & Pinter 2019, Table 3", 0.031, value, value - 0.02, value + 0.02, verdict)
        for corpus, (verdict, value) in zip(("sst", "imdb", "adr", ALERT), ours.items(), strict=True)
    ]
