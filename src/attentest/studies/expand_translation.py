"""The steps of a study on a corpus of translations: models that translate, their trials, and trainings next to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from attentest.corpora.corpus import Corpus
from attentest.engine.plan import Plan, Step
from attentest.errors import InputError
from attentest.files import hash_of
from attentest.studies.expand import STEPS, StudyPlan, is_translator, mean_tokens, prepare
from attentest.studies.experiments import EXPERIMENTS, make_experiment
from attentest.studies.experiments.base import BASE
from attentest.studies.results import EXPERIMENT, INSTANCES, RUN, TRIAL, ResultRef
from attentest.studies.schema import OF_PLACE, Study
from attentest.translation.folder import FILES
from attentest.translation.run import TranslationRun
from attentest.translation.settings import TranslationSettings, sort_translation_settings, translation_settings
from attentest.trials import make_trial, trial_class
from attentest.trials.instances import HEAT_MAPS
from attentest.trials.of_translation import OF_TRANSLATION, is_of_translation
from attentest.trials.of_translation.base import TranslationTrial

# products a second on one core in training, and seconds of a token of a trial: rough, for the estimate alone
PRODUCTS, TRIAL_COST = 7e9, 1e-3
WORDS = 15.0  # of a sentence, where nobody counted them
# what published tables call our models
NAMES = {"bahdanau": "rnn-translation+additive", "luong": "rnn-translation+luong", "transformer": "transformer"}


def add_translations(found: StudyPlan, source: str, options: Mapping[str, Any], corpus: Corpus) -> None:
    study = found.study
    models = [model for model in study.models if is_translator(model)]
    trials = {name: settings for name, settings in study.trials.items() if name in OF_TRANSLATION}
    if not models or not trials:
        what, example = ("models", "{model: bahdanau}") if not models else ("trials", "translation-uniform")
        raise InputError(
            f"{corpus.name} is a corpus of translations, and {study.name} has no {what} for these; name some, e.g. "
            f"{what}: [{example}]."
        )
    experiments = {name: settings for name, settings in study.experiments.items() if is_of_translation(name)}
    texts = study.texts_on.get(source, study.texts)
    chosen = replace(study, trials=trials, experiments=experiments, texts=texts)
    prepared, corpus = prepare(found, source, options, corpus)
    known = translation_settings()
    usual = {name: value for name, value in study.training.items() if name in known}  # vectors, say, are for others
    own = {**usual, **study.training_on.get(source, {})}
    found.first_models[corpus.name] = name_of(sort_translation_settings(corpus, {**own, **models[0]}))
    for model in models:
        for seed in study.seeds:
            given = {**own, **model, "seed": seed}
            settings = sort_translation_settings(corpus, given)
            sizes = _Sizes(mean_tokens(corpus) / 2, *(int((corpus.split == one).sum()) for one in ("train", "test")))
            more = {name: value for name, value in model.items() if name != "model"}
            block = _Block(chosen, found.plan, corpus.name, sizes, settings, found.device, more, given, prepared)
            block.add(found.results)


def add_translation_run(found: StudyPlan, run: TranslationRun) -> None:
    """A finished run alone: what needs no training."""
    corpus, settings = run.record.corpus, run.record.settings
    found.first_models[corpus.name] = name_of(settings)
    found.fingerprints[str(run.path)] = corpus.fingerprint
    hashes = {name: hash_of(run.path / name) for name in FILES if (run.path / name).is_file()}
    places = {"path": str(run.path.resolve())}
    taken = found.plan.add(f"take {run.path.name}", f"{STEPS}.taken:run", {"files": hashes}, places=places)
    sizes = _Sizes(WORDS, corpus.rows.get("train", 0), run.translations.num_rows)
    _Block(found.study, found.plan, corpus.name, sizes, settings, found.device, taken=taken).add(found.results)


def name_of(settings: TranslationSettings) -> str:
    return NAMES[settings.model.model]


@dataclass(frozen=True)
class _Sizes:
    """For the estimate of time alone."""

    tokens: float  # of a sentence
    train: int  # pairs
    test: int


@dataclass
class _Block:
    """All steps for one corpus, model and seed."""

    study: Study
    plan: Plan
    corpus: str
    sizes: _Sizes
    settings: TranslationSettings
    device: str
    own: Mapping[str, Any] = field(default_factory=dict)  # what the study says of this model alone
    given: Mapping[str, Any] = field(default_factory=dict)
    prepared: Step | None = None  # the corpus; without it nothing can be trained
    taken: Step | None = None  # a finished run that is the base

    def add(self, results: dict[ResultRef, Step]) -> None:
        self.trained = {BASE: self.taken or self._train(BASE, self.given)}

        def add(kind: str, name: str, step: Step) -> None:
            results[self._ref(str(len(results)), kind, name)] = step

        add(RUN, BASE, self.trained[BASE])
        for name, settings in self.study.trials.items():
            kind = trial_class(name)
            assert issubclass(kind, TranslationTrial)
            if not kind.needs_sites or self.settings.model.model == "transformer":
                add(TRIAL, name, self._trial(name, settings))
        for name, settings in self.study.experiments.items():
            add(EXPERIMENT, name, self._experiment(name, settings))
        add(INSTANCES, HEAT_MAPS, self._instances())

    @property
    def label(self) -> str:
        seed = self.settings.training.seed
        more = [f"{name}={value}" for name, value in self.own.items()]
        return " ".join([self.corpus, self.settings.model.model, *more, *([f"seed {seed}"] if seed else [])])

    def _ref(self, role: str, kind: str, name: str) -> ResultRef:
        seed = self.settings.training.seed
        return ResultRef(
            role=role,
            kind=kind,
            name=name,
            block=self.label,
            corpus=self.corpus,
            model=name_of(self.settings),
            projection="softmax",
            seed=seed,
            compared=True,
        )

    def _train(self, label: str, given: Mapping[str, Any]) -> Step:
        assert self.prepared is not None
        seconds = self.sizes.train * self.sizes.tokens * self.settings.training.epochs * self._token_cost
        return self.plan.add(
            f"train {self.label}" + ("" if label == BASE else f", {label}"),
            f"{STEPS}.translation_training:run",
            dict(given),
            {"corpus": self.prepared},
            places={"device": self.device},
            seconds=seconds,
        )

    @property
    def _token_cost(self) -> float:
        """Seconds of a token and epoch: the output projection, and about ten matrices a layer."""
        model = self.settings.model
        width = model.hidden if model.model == "transformer" else model.dimension
        return (self.settings.text.vocabulary * width + 10 * model.layers * model.hidden**2) / PRODUCTS

    def _trial(self, name: str, settings: Mapping[str, Any]) -> Step:
        own = {key: value for key, value in settings.items() if key not in OF_PLACE}
        texts = settings.get("texts", self.study.texts)
        kind = trial_class(name)
        trial = make_trial(name, **own)
        assert isinstance(trial, TranslationTrial)
        hashes = {one: hash_of(Path(place)) for one, place in trial.files().items()}
        return self.plan.add(
            f"{name} of {self.label}",
            f"{STEPS}.translation_trial:run",
            {
                "trial": name,
                "settings": asdict(trial),  # type: ignore[call-overload]
                "texts": texts,
                **({"files": hashes} if hashes else {}),  # for the key alone
            },
            {"run": self.trained[BASE]},
            modules=(kind.__module__,),
            places={"device": self.device},
            seconds=min(self.sizes.test, texts or self.sizes.test) * self.sizes.tokens * TRIAL_COST * kind.cost,
        )

    def _experiment(self, name: str, settings: Mapping[str, Any]) -> Step:
        experiment = make_experiment(name, settings)
        inputs = {f"run {BASE}": self.trained[BASE]}
        for training in experiment.trainings():
            step = self._train(training.label, {**self.given, **training.settings})
            inputs[f"run {training.label}"] = self.trained[training.label] = step
        return self.plan.add(
            f"experiment {name} of {self.label}",
            f"{STEPS}.translation_experiment:run",
            {"experiment": name, "settings": dict(settings)},
            inputs,
            modules=(EXPERIMENTS[name].partition(":")[0],),
            seconds=5,
        )

    def _instances(self) -> Step:
        return self.plan.add(
            f"heat maps of {self.label}",
            f"{STEPS}.translation_instances:run",
            {},
            {"run": self.trained[BASE]},
            places={"device": self.device},
            seconds=2,
        )
