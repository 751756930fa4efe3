"""Two runs side by side: the same trials on each, and how far the models are apart, text by text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import torch

from attentest.errors import InputError, unknown_name
from attentest.measures.divergences import LARGEST_JSD
from attentest.measures.intervals import Estimate, mean, share
from attentest.measures.kendall import kendall_tau
from attentest.models.pretrained.precision import AUTO, dtype_of
from attentest.studies.audit import BUDGETS, trials_of
from attentest.studies.cells import accuracy_gain, f1_gain
from attentest.studies.expand import STEPS, StudyPlan, add_run
from attentest.studies.experiments.base import Difference, difference, padded, tidy_head
from attentest.studies.schema import Study
from attentest.training.run import Run
from attentest.training.tables import items_of
from attentest.trials.base import Chart, column
from attentest.trials.charts import class_groups, histograms
from attentest.trials.finding import Finding
from attentest.trials.instances import SCHEMA, SHOWN, shown_words
from attentest.version import __version__

NAME = "comparison"
_EDGES = np.linspace(0, 0.7, 29)


def charts(table: pa.Table, summary: Mapping[str, Estimate]) -> dict[str, Chart]:
    """From the table of a finding alone, as those of a trial."""
    chart = histograms(
        {"all": column(table, "jsd")},
        class_groups(table),
        _EDGES,
        "JSD between the two models' weights (nats, at most 0.693)",
        "Texts by the JSD between the attention of the two models, by the class that the first of them predicts.",
    )
    return {"JSD between the models": chart}


class About(NamedTuple):
    """What the page says about it, as of a trial."""

    question: str
    source: str
    how_to_read: str
    charts: Callable[[pa.Table, Mapping[str, Estimate]], Mapping[str, Chart]]


ABOUT = About(
    "Do the two models make the same decisions, with attention on the same tokens?",
    "the measures of Jain & Wallace 2019 and Wiegreffe & Pinter 2019, applied to two models",
    "A JSD near 0 means that both models attend to the same tokens; near 0.693, they attend to different ones. "
    "Kendall's τ compares only the order of the weights. Wiegreffe & Pinter 2019 train models on purpose that agree in "
    "their predictions but not in their weights; a difference does not prove either model wrong.",
    charts,
)


def plan_comparison(
    a: Run,
    b: Run,
    budget: str = "quick",
    texts: int | None = None,
    device: str = "auto",
    dtype: str = AUTO,
    memory: int | None = None,
) -> StudyPlan:
    """The trials that need no training on each run, and, where both read the same texts, the two against each other."""
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)
    if texts is not None and texts < 1:
        raise InputError(f"texts is {texts}; it must be at least 1.")
    dtype_of(dtype)  # refuses what is none
    for run in (a, b):
        if not run.finished:
            raise InputError(f"{run.path} is not finished; finish its training first.")
    if a.source == b.source:
        raise InputError(f"{a.path} was given twice; give two different runs.")
    names = _names(a, b)
    title = f"{names[0]} vs. {names[1]}"
    study = Study(name=f"comparison of {' and '.join(names)}", title=title, texts=texts or BUDGETS[budget].texts)
    why = _why_apart(a, b)
    notes = [] if why is None else [f"The two models are not compared text by text: {why}"]
    notes += [f"The trials are of models that compute in {dtype}."] if dtype != AUTO else []
    settings: dict[str, Any] = {"budget": budget, "texts": texts} | ({} if dtype == AUTO else {"dtype": dtype})
    expanded = StudyPlan(study, budget, NAME, notes, settings=settings, device=device, dtype=dtype, memory=memory)
    steps = []
    for name, run in zip(names, (a, b), strict=True):
        rationales = "rationale" in run.attention.column_names
        expanded.study = replace(
            study, trials=trials_of(replace(BUDGETS[budget], texts=study.texts), rationales, False)
        )
        steps.append(add_run(expanded, run, name))
    if why is None:
        expanded.beside = expanded.plan.add(
            f"compare {title}",
            f"{STEPS}.comparison:run",
            {"names": names},
            {"a": steps[0], "b": steps[1]},
            modules=("attentest.studies.comparison",),
            seconds=5,
        )
    return expanded


def _names(a: Run, b: Run) -> list[str]:
    """Their folders' names, with as much of the path before them as tells them apart."""
    paths = [tuple(run.source.rpartition("@")[::-2]) if run.is_temporary else run.path.resolve().parts
             for run in (a, b)]  # fmt: skip
    depth = next(n for n in range(1, max(map(len, paths)) + 1) if paths[0][-n:] != paths[1][-n:])
    return ["/".join(path[-depth:]) for path in paths]


def _why_apart(a: Run, b: Run) -> str | None:
    """Why two runs cannot be compared text by text; None if they can."""
    if a.classes != b.classes:
        return "their classes differ."
    try:
        difference(a, b)
    except InputError as error:
        return str(error)
    return None


def finding(names: list[str], a: Run, b: Run) -> Finding:
    first, second = names
    apart, tau = difference(a, b), _tau(a, b)
    same = np.array(a.predictions["predicted"].to_pylist()) == np.array(b.predictions["predicted"].to_pylist())
    gain = f1_gain(b, a, second, first)
    summary = {
        "mean JSD of the weights": mean(apart.jsd, (0, LARGEST_JSD)),
        "mean TVD of the predictions": mean(apart.tvd, (0, 1)),
        "Kendall τ of the weights": mean(tau, (-1, 1)),
        "share of the same decisions": share(same),
        f"accuracy, {second} − {first}": accuracy_gain(a, b),
        f"F1, {second} − {first}": Estimate(gain.value, gain.low, gain.high, len(tau)),
    }
    found = {"predicted_by_other": b.predictions["predicted"], "jsd": apart.jsd, "tvd": apart.tvd, "tau": tau}
    table = pa.table({**tidy_head(a), **found})
    answer = (
        f"The two models make the same decision in a share of {summary['share of the same decisions']} of the texts; "
        f"their weights differ by a mean JSD of {summary['mean JSD of the weights']} (the maximum possible is "
        f"{LARGEST_JSD:.3f})."
    )
    about = {name: {part: run.settings[part] for part in ("corpus", "model", "training")}
             for name, run in zip(names, (a, b), strict=True)}  # fmt: skip
    signature = {"attentest": __version__, NAME: f"{first}, {second}", **about}
    return Finding(NAME, ABOUT.question, answer, table, summary, signature, charts(table, summary), kind=NAME)


def instances_of_both(names: list[str], a: Run, b: Run, seed: int = 0) -> pa.Table:
    """Heat maps of both models on a sample of texts, in the order of the corpus."""
    apart = difference(a, b)
    rows = np.sort(np.random.default_rng(seed).permutation(len(apart.jsd))[:SHOWN])
    nothing = Difference(np.zeros_like(apart.tvd), np.zeros_like(apart.jsd), apart.classes)
    sides = [
        (name, run.predictions.take(rows).to_pylist(), run.attention.take(rows).to_pylist(), run.word_shares, away)
        for name, run, away in zip(names, (a, b), (nothing, apart), strict=True)
    ]
    found: list[dict[str, Any]] = []
    for place, row in enumerate(rows.tolist()):
        for name, said, tokens, shares, away in sides:
            about = {key: said[place].get(key) for key in ("id", "text", "second", "label", "predicted")}
            spans = shown_words(items_of(tokens[place]), tokens[place].get("rationale"))
            measured = {"tvd": float(away.tvd[row]), "jsd": float(away.jsd[row]), "weight": shares[row]}
            probability = max(said[place]["probability"])
            found.append({**about, **spans, **measured, "variant": name, "probability": probability})
    return pa.Table.from_pylist(found, SCHEMA)


def _tau(a: Run, b: Run) -> np.ndarray:
    """Kendall's τ-b of the two models' weights, text by text."""
    first, mask = padded(a.shares)
    tau, _ = kendall_tau(torch.from_numpy(first), torch.from_numpy(padded(b.shares)[0]), torch.from_numpy(mask))
    return np.asarray(tau)
