"""The audit: the default study, on the user's data or model."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from attentest.corpora import load
from attentest.corpora.corpus import FEWEST_ROWS, Corpus
from attentest.errors import InputError, unknown_name
from attentest.files import is_folder
from attentest.models.pretrained.precision import AUTO, dtype_of
from attentest.models.settings import HIERARCHICAL
from attentest.studies.examined import Finished
from attentest.studies.expand import (
    CHEAP,
    StudyPlan,
    add_corpus,
    add_finished,
    add_run,
    mean_tokens,
    refuse_added,
    unusual,
)
from attentest.studies.experiments import make_experiment
from attentest.studies.experiments.controls import Controls
from attentest.studies.experiments.seeds import Seeds
from attentest.studies.schema import Study
from attentest.text.settings import TextSettings
from attentest.training.encoder import check_classifier, hash_of_base
from attentest.training.fine_tuning import READ, check_fine_tuning
from attentest.training.run import Run
from attentest.training.settings import FINE_TUNING, check_setting, sort_settings
from attentest.trials import TRIALS, trial_class
from attentest.trials.rationale import Rationale

GIVEN = ("uniform", "random", "preset")  # projections whose weights are not learned
FEWEST_SENSIBLE = 500  # rows, however long they are
NOT_CALIBRATED = (
    "The error rates of the tests were measured on models with one layer of attention; no pretrained encoder was among "
    "them, so they are no guarantee here."
)
_MEASURES = ["gradient-input-fixed", "leave-one-out"]  # Jain & Wallace's, which the verdict looks at


@dataclass(frozen=True)
class Budget:
    """How much of everything; settings of trials and experiments other than their own are the papers'."""

    about: str
    rows: int | None
    tokens: int | None  # fewer rows of long texts, so that they have about this many tokens in all
    texts: int | None
    training: Mapping[str, Any]
    trials: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # all are held; settings where they differ
    experiments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


# integrated gradients are captum's, of the extra `explain`
_RANKINGS = ["gradient-input", *(["integrated-gradients"] if find_spec("captum") else [])]
_RANKED = {name: {"measures": _RANKINGS} for name in ("erasure", "exchange")}
_OF_EVERY_TRAINING = ["uniform", "erasure", "exchange", "information"]  # what decides; one training may be an exception
# the epoch is chosen by what is judged, for every model of an audit; dropout was chosen on dev (docs/verdicts.md)
_TRAINING = {"epochs": 12, "patience": 3, "select_by": "f1"}
_DROPOUT = {"dropout": 0.3}
BUDGETS = {
    "quick": Budget(
        "a few minutes: what decides the verdicts; 12,000 rows (fewer if long), 400 test texts (2,000 where a trial is "
        "cheap), hidden size 64, up to 12 epochs, 4 other seeds, 2 adversaries, controls",
        rows=12_000,
        tokens=400_000,
        texts=400,
        training={**_TRAINING, **_DROPOUT, "hidden": 64},
        trials={
            "correlation": {"measures": _MEASURES},
            "dispersion": {"influence_texts": 30},
            "information": {"runs": 5},
        },
        experiments={
            "controls": {"texts": 150, "epochs": 6},
            "uniform": {"weights": ["uniform"], "repeats": 5},
            "seeds": {"seeds": 4, "examine": ["uniform", "exchange"]},
            "adversary": {"lambdas": [0.005, 0.02], "epochs": 8, "patience": 3, "seeds": 4, "from_base": True},
        },
    ),
    "standard": Budget(
        "tens of minutes: 20,000 rows (fewer if long), 1,000 test texts (5,000 where a trial is cheap), up to 12 "
        "epochs, 4 other seeds, 5 adversaries, 3 trainings of each model that is compared, controls",
        rows=20_000,
        tokens=1_000_000,
        texts=1000,
        training={**_TRAINING, **_DROPOUT},
        trials={"dispersion": {"influence_texts": 100}, **_RANKED},
        experiments={
            "controls": {"texts": 300},
            "uniform": {"repeats": 5},
            "seeds": {"seeds": 4, "examine": _OF_EVERY_TRAINING},
            "guides": {"strength": 0.001, "epochs": 20, "patience": 5, "repeats": 3},
            "adversary": {
                "lambdas": [0.001, 0.002, 0.005, 0.01, 0.02],
                **{"epochs": 20, "patience": 5, "seeds": 4, "repeats": 3, "from_base": True},
            },
            "frozen": {"epochs": 20, "patience": 5},
            "fix": {"repeats": 3},
            "informed-adversary": {"strength": 0.001, "epochs": 20, "patience": 5, "repeats": 3},
            "gumbel": {"repeats": 3},
        },
    ),
    "paper": Budget(
        "hours to days: every row and test text, and the papers' seeds and λ values",
        rows=None,
        tokens=None,
        texts=None,
        training={**_TRAINING, "epochs": 20},
        trials=_RANKED,
        experiments={
            "controls": {"texts": 500},
            "uniform": {"repeats": 5},
            "seeds": {"examine": _OF_EVERY_TRAINING},
            "adversary": {"from_base": True, "repeats": 3},
            "guides": {"repeats": 3},
            **{name: {} for name in ("frozen", "sparsity")},
            **{name: {"repeats": 3} for name in ("fix", "informed-adversary", "gumbel")},
        },
    ),
}
CHEAPER = 5  # times as many texts for trials that cost next to nothing


def plan_audit(
    source: str | Run | Corpus,
    budget: str = "quick",
    *,
    columns: Mapping[str, Any] | None = None,
    model: Run | Finished | None = None,
    rows: int | None = None,
    texts: int | None = None,
    training: Mapping[str, Any] | None = None,
    device: str = "auto",
    dtype: str = AUTO,
    memory: int | None = None,
    controls: bool = True,
) -> StudyPlan:
    """The plan, with sentences about what is left out of it.

    `source` is a corpus or what `attentest.load` takes, a finished run or the folder of one. A run alone can stand the
    trials that need no training; a corpus with the run that was trained on it (`model`) can stand all, and one with a
    model that was trained elsewhere those that need no training.
    """
    if budget not in BUDGETS:
        raise unknown_name("budget", budget, BUDGETS)
    if texts is not None and texts < 1:
        raise InputError(f"texts is {texts}; it must be at least 1.")
    dtype_of(dtype)  # refuses what is none
    chosen = BUDGETS[budget]
    given = dict(training or {})
    for name, value in given.items():
        check_setting(name, value)
    if isinstance(source, str) and is_folder(Path(source)) and (Path(source) / "run.json").is_file():
        source = Run(source)
    if isinstance(source, Run):
        if model is not None or given or columns or rows:
            raise InputError(
                f"{source.path} is a run: it is audited as it is, without another model, columns or settings."
            )
        return _of_run(source, budget, texts or chosen.texts, device, dtype, memory)
    if rows is not None and rows < FEWEST_ROWS:
        raise InputError(f"rows is {rows}; it must be at least {FEWEST_ROWS}.")
    corpus = source if isinstance(source, Corpus) else load(source, **(columns or {}))
    if corpus.kind == "generation":
        raise InputError(
            f"{corpus.name} is a corpus of translations: train a model on it with attentest train, then audit the run."
        )
    name = f"{corpus.name}@{corpus.fingerprint()}" if isinstance(source, Corpus) else source
    chosen = replace(chosen, rows=_rows_for(corpus, chosen, rows), texts=texts or chosen.texts)
    if isinstance(model, Finished):
        others = [name for name in given if name not in READ]
        if others:
            raise InputError(f"{model.source} is trained already; {', '.join(others)} cannot be set.")
        model = replace(model, text={**model.text, **given})
        return _of_finished(corpus, name, dict(columns or {}), budget, chosen, model, device, memory)
    if dtype != AUTO:
        raise InputError(
            "`dtype` is for a pretrained encoder that is finished: give that as `model`, or its run as the source. "
            "Models are trained in float32."
        )
    if model is not None:  # all others are trained and tested on its texts, however many these are
        given = _settings_of(model, corpus if rows is None else corpus.sample(rows), name, given)
        chosen = replace(chosen, rows=rows)
    if not controls:
        chosen = replace(chosen, experiments={k: v for k, v in chosen.experiments.items() if k != Controls.name})
    return _of_corpus(corpus, name, dict(columns or {}), budget, chosen, given, model, device, memory)


def _rows_for(corpus: Corpus, budget: Budget, asked: int | None) -> int | None:
    """As many rows as were asked for or as the budget has, or fewer if they are long; never more than asked for."""
    if budget.rows is None or budget.tokens is None:
        return asked or budget.rows
    fitting = int(budget.tokens / max(1.0, mean_tokens(corpus)))
    rows = max(FEWEST_SENSIBLE, min(asked or budget.rows, fitting))
    return rows if asked is None else min(asked, rows)


def _of_corpus(
    corpus: Corpus,
    source: str,
    columns: dict[str, Any],
    name: str,
    budget: Budget,
    given: dict[str, Any],
    model: Run | None,
    device: str,
    memory: int | None,
) -> StudyPlan:
    usual = budget.training if given.get("pretrained") is None else FINE_TUNING
    settings = {**(usual if model is None else {}), **given}
    if settings.get("objective", "labels") != "labels":
        raise InputError(f"The objective '{settings['objective']}' cannot be used in an audit, which trains on labels.")
    if settings.get("projection", "").partition(":")[0] in GIVEN:
        raise InputError(f"The projection '{settings['projection']}' has no learned weights to audit; choose another.")
    check_fine_tuning(sort_settings(corpus, settings))  # a sentence now rather than a failed step later
    left_out = _left_out(settings, budget.experiments, corpus)
    study = Study(
        name=f"audit of {corpus.name}",
        title=f"Audit of {corpus.name}",
        corpora=(source,),
        columns=columns,
        models=(_of_model(settings),),
        seeds=(settings.get("seed", 0),),
        training={key: value for key, value in settings.items() if key not in (*_of_model(settings), "seed")},
        rows=budget.rows,
        texts=budget.texts,
        trials=trials_of(budget, corpus.has_rationale, "pretrained" in settings),
        experiments=_experiments(budget, corpus.has_rationale, left_out),
    )
    notes = [f"The experiment {key} was left out: {why}" for key, why in left_out.items()]
    notes += [NOT_CALIBRATED] if "pretrained" in settings else []
    expanded = StudyPlan(study, name, "audit", notes, device=device, memory=memory)
    add_corpus(expanded, source, columns, corpus, model)
    return expanded


def _of_finished(
    corpus: Corpus,
    source: str,
    columns: dict[str, Any],
    name: str,
    budget: Budget,
    model: Finished,
    device: str,
    memory: int | None,
) -> StudyPlan:
    # a sentence now rather than a failed step later
    check_classifier(model.source, corpus, model.labels, TextSettings(**model.text))
    study = Study(
        name=f"audit of {model.name} on {corpus.name}",
        title=f"Audit of {model.name} on {corpus.name}",
        corpora=(source,),
        columns=columns,
        rows=budget.rows,
        texts=budget.texts,
        trials=trials_of(budget, corpus.has_rationale, layers=True),
    )
    notes = [
        f"The experiment {key} was left out: one finished model was given, and it needs others trained as that was."
        for key in budget.experiments
    ]
    notes.append(NOT_CALIBRATED)
    expanded = StudyPlan(study, name, "audit", notes, device=device, memory=memory)
    add_finished(expanded, source, columns, corpus, model)
    return expanded


def _of_run(run: Run, name: str, texts: int | None, device: str, dtype: str, memory: int | None) -> StudyPlan:
    if not run.finished:
        raise InputError(f"{run.path} is not finished; finish its training first.")
    corpus = run.record.corpus.name
    study = Study(
        name=f"audit of {run.name}",
        title=f"Audit of {run.name}, trained on {corpus}",
        corpora=(corpus,),
        texts=texts,
        trials=trials_of(
            replace(BUDGETS[name], texts=texts), "rationale" in run.attention.column_names, run.is_pretrained
        ),
    )
    alone = (
        "The source is a run alone, so no comparison models were trained. To train them, give its corpus as the source "
        "and the run as `model`."
    )
    notes = [alone, *([NOT_CALIBRATED] if run.is_pretrained else [])]
    notes += [f"The model computes in {dtype}; its predictions and accuracy are of the run."] if dtype != AUTO else []
    expanded = StudyPlan(study, name, "audit", notes, device=device, dtype=dtype, memory=memory)
    add_run(expanded, run)
    return expanded


def trials_of(budget: Budget, rationales: bool, layers: bool) -> dict[str, dict[str, Any]]:
    """With rationales those that need them, and for a model with layers of self-attention those that need these."""
    refuse_added("trial", TRIALS, TRIALS)
    kinds = {name: trial_class(name) for name in TRIALS}
    names = [
        name
        for name, kind in kinds.items()
        if (layers or not kind.needs_layers) and (rationales or not kind.needs_rationale)
    ]
    found = {name: dict(budget.trials.get(name, {})) for name in names}
    for name, settings in found.items():
        if budget.texts is not None and trial_class(name).cost <= CHEAP:
            settings["texts"] = CHEAPER * budget.texts
    return found


def _experiments(budget: Budget, rationales: bool, left_out: Collection[str]) -> dict[str, dict[str, Any]]:
    found = {key: dict(value) for key, value in budget.experiments.items() if key not in left_out}
    if rationales and Seeds.name in found:
        found[Seeds.name]["examine"] = [*found[Seeds.name].get("examine", []), Rationale.name]
    return found


def _settings_of(model: Run, corpus: Corpus, source: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a run that is taken as the base; others are trained with the same."""
    if given:
        raise InputError(f"{model.path} already has its settings; {', '.join(given)} cannot be set with `model`.")
    if not model.finished:
        raise InputError(f"{model.path} is not finished; finish its training first.")
    if model.record.corpus.fingerprint != corpus.fingerprint():
        raise InputError(
            f"{model.path} was not trained on {source} as it is read here (their hashes differ); give the "
            "corpus, columns and `rows` of its training."
        )
    if model.has_given_weights:
        raise InputError(f"{model.path} uses fixed attention weights; choose a run that learned its attention.")
    if model.record.training.objective == "adversary":
        raise InputError(
            f"{model.path} was trained to imitate another run, so no comparison models can be trained; give the run "
            "alone, as the source."
        )
    found = {**model.settings["text"], **unusual(model.settings["model"]), **model.settings["training"]}
    if model.record.pretrained is not None:
        found["pretrained"] = _base_of(model)
    return found


def _base_of(model: Run) -> str:
    """The encoder that a run started from, which comparison models start from, too."""
    base = model.record.pretrained_from
    if base is None:
        raise InputError(
            f"{model.path} was not trained here, so no comparison models can be trained as it was; give the run alone, "
            "as the source."
        )
    if hash_of_base(base) != model.record.pretrained:
        raise InputError(
            f"{base} is not the encoder that {model.path} started from any more, so no comparison models can be "
            "trained; give the run alone, as the source."
        )
    return base


def _of_model(settings: Mapping[str, Any]) -> dict[str, Any]:
    """What a model is called by; its size and its noise in training are the budget's."""
    return {
        name: value
        for name, value in settings.items()
        if check_setting(name, value)[0] == "model" and name not in ("hidden", "dropout")
    }


def _left_out(
    settings: Mapping[str, Any], experiments: Mapping[str, Mapping[str, Any]], corpus: Corpus
) -> dict[str, str]:
    """Experiments whose models cannot be made of this one, and why."""
    hierarchical = settings.get("structure") == HIERARCHICAL
    found = {}
    for name, own in experiments.items():
        trainings = [t for t in make_experiment(name, own).trainings() if not t.optional]
        if hierarchical and any(t.base or t.preset or t.settings.get("projection") == "random" for t in trainings):
            found[name] = "it is not possible with a hierarchical model."
        elif corpus.kind != "single" and any(t.planted for t in trainings):
            found[name] = "words are planted into single texts only."
        elif not all(_fits_encoder({**settings, **t.settings}, corpus) for t in trainings):
            found[name] = "it trains parts or weights that a pretrained encoder does not have."
    return found


def _fits_encoder(settings: Mapping[str, Any], corpus: Corpus) -> bool:
    """Whether a pretrained encoder, if that is what is audited, can be trained like this."""
    if settings.get("pretrained") is None:
        return True
    try:
        check_fine_tuning(sort_settings(corpus, settings))
    except InputError:
        return False
    return True
