"""From a study to the plan of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from attentest.corpora import load
from attentest.corpora.build import for_test
from attentest.corpora.corpus import Corpus
from attentest.engine.plan import Plan, Step
from attentest.errors import InputError
from attentest.files import hash_of, is_file
from attentest.models import ModelSettings
from attentest.models.build import PAIR_MODELS, check_pair, check_single, sites_of
from attentest.models.pretrained.precision import AUTO
from attentest.models.settings import refuse_added_parts
from attentest.studies.examined import Examined, Finished, of_finished, of_run, to_be_trained
from attentest.studies.experiments import EXPERIMENTS, make_experiment
from attentest.studies.experiments.adversary import ADVERSARY
from attentest.studies.experiments.base import BASE
from attentest.studies.published import fingerprint_of
from attentest.studies.results import (
    BASELINE,
    EXPERIMENT,
    INSTANCES,
    RUN,
    SINKS,
    TRIAL,
    WITH_SPECIAL,
    WITHOUT_SINKS,
    Failure,
    ResultRef,
)
from attentest.studies.schema import (
    ALL_SITES,
    BUDGETS,
    LEAST,
    LIMITS_ON,
    OF_MODELS,
    OF_PLACE,
    OLD_BUDGETS,
    WHOLE,
    Study,
)
from attentest.text.installed_vectors import located
from attentest.text.settings import TextSettings
from attentest.text.vectors import PACKAGED, check_vectors
from attentest.training.encoder import hash_of_base, place_of
from attentest.training.folder import FILES
from attentest.training.run import Run
from attentest.training.settings import sort_settings
from attentest.trials import TRIALS, make_trial, trial_class
from attentest.trials.instances import HEAT_MAPS, SHOWN
from attentest.trials.of_translation import is_of_translation

STEPS = "attentest.studies.steps"
# seconds a token and epoch of training, and a token of a trial, on one core: rough, for the estimate alone
TRAINING_COST, TRIAL_COST, BASELINE_COST, START = 2.5e-5, 5e-5, 5e-6, 2.0
SIZELESS = 0.15  # the share of a training's cost that stays however small the model is
ENCODER_COST = 80  # times as much for a small pretrained encoder
CHARACTERS = 5.5  # of a token with what follows it, about
PLANTED, PLANTED_ROWS = 0.6, 2000  # the share of rows with planted words, and how many rows there are at most
CHEAP = 2  # trials of a model that cost no more share one reading of its texts, and so do the others


@dataclass
class StudyPlan:
    """A plan, and where in it the results of each corpus and model are."""

    study: Study
    budget: str
    kind: str = "study"  # or audit, or comparison
    notes: Sequence[str] = ()  # what is left out, as sentences
    plan: Plan = field(default_factory=Plan)
    results: dict[ResultRef, Step] = field(default_factory=dict)
    fingerprints: dict[str, str] = field(default_factory=dict)  # of the corpora, by source
    first_models: dict[str, str] = field(default_factory=dict)  # by name of the corpus
    tasks: dict[str, str] = field(default_factory=dict)  # kinds of corpora, by name
    beside: Step | None = None  # what sets two models against each other
    settings: Mapping[str, Any] = field(default_factory=dict)  # by which a folder knows its plan again
    device: str = "auto"  # of trainings and trials
    examined: dict[str, Examined] = field(default_factory=dict)  # pretrained encoders, by the keys of their steps
    dtype: str = AUTO  # that finished runs of pretrained encoders are put into
    memory: int | None = None  # bytes for what a trial has in memory at a time; it changes no number, so no key

    @property
    def places(self) -> dict[str, Any]:
        """Where trials are run, and in how much memory."""
        return {"device": self.device} | ({} if self.memory is None else {"memory": self.memory})

    def summarise(self, there: Callable[[str], bool] = lambda key: True) -> Step:
        """The step that gathers all results, or those whose key is there."""
        kept = {ref: step for ref, step in self.results.items() if there(step.key)}
        lost = {ref: step for ref, step in self.results.items() if ref not in kept}
        settings = {
            "study": self.study.name,
            "title": self.study.title,
            "kind": self.kind,
            "notes": list(self.notes),
            "paper": self.study.paper,
            "published": fingerprint_of(self.study.paper) if self.study.paper else None,  # for the key alone
            "budget": self.budget,
            "rows": self.study.rows,
            "results": [asdict(ref) for ref in kept],
            "missing": [step.name for step in lost.values()],
            "failed": [asdict(Failure(ref.block, ref.kind, ref.name)) for ref in lost],
            "tolerances": self.study.tolerances,
            "directions": [asdict(direction) for direction in self.study.directions],
            "first_models": self.first_models,
            "tasks": self.tasks,
            "not_covered": self.study.not_covered,
            "deviations": self.study.deviations,
        }
        inputs = {ref.role: step for ref, step in kept.items()}
        if self.beside is not None and there(self.beside.key):
            inputs["beside"] = self.beside
        return self.plan.add("summarise", f"{STEPS}.summary:run", settings, inputs, seconds=5)


def budget_name(study: Study, budget: str) -> str:
    """The budget that is meant; one that a study does not have would be the paper's under another name."""
    name = OLD_BUDGETS.get(budget, budget)
    if name not in BUDGETS:
        raise InputError(f"The budget '{budget}' is not known; choose from: {', '.join(BUDGETS)}.")
    known = [one for one in BUDGETS if one in study.budgets or one == WHOLE]
    if name not in known:
        raise InputError(
            f"{study.name} does not say what the budget {name} changes; choose from: {', '.join(known)}, or add it "
            "under budgets."
        )
    return name


def with_budget(study: Study, budget: str) -> Study:
    budget = budget_name(study, budget)
    changes = study.budgets.get(budget, {})
    merged: dict[str, Any] = {key: changes[key] for key in LEAST if key in changes}
    if "seeds" in changes:
        merged["seeds"] = tuple(changes["seeds"])
    merged["training"] = {**study.training, **changes.get("training", {})}
    for key in ("trials", "experiments", "training_on", "training_of"):
        merged[key] = _merged(getattr(study, key), changes.get(key, {}))
    for key in LIMITS_ON:
        merged[key] = {**getattr(study, key), **changes.get(key, {})}
    merged["experiments_on"] = _experiments_on(study, changes)
    merged["deviations"] = {**study.deviations, **changes.get("deviations", {})}
    return replace(study, **merged)


def _experiments_on(study: Study, changes: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """What a budget says of an experiment holds on every corpus, unless it says more about one."""
    given, more, everywhere = study.experiments_on, changes.get("experiments_on", {}), changes.get("experiments", {})
    found = {}
    for corpus in {**given, **more}:
        own = given.get(corpus, {})
        limited = {name: everywhere[name] for name in own if name in everywhere and own[name] is not False}
        found[corpus] = _merged(_merged(own, limited), more.get(corpus, {}))
    return found


def _merged(given: Mapping[str, Any], more: Mapping[str, Any]) -> dict[str, Any]:
    """Settings by name, those of `more` last; false stays, unless settings take its place."""
    found: dict[str, Any] = {}
    for name in {**given, **more}:
        last = more.get(name, given.get(name))
        found[name] = {**(given.get(name) or {}), **last} if last is not False else False
    return found


def expand(
    study: Study,
    budget: str = "paper",
    data_dir: Path | None = None,
    device: str = "auto",
    memory: int | None = None,
) -> StudyPlan:
    """The plan of a study that has what its budget says already."""
    from attentest.studies.expand_translation import add_translations

    found = StudyPlan(study, budget if study.budgets else "", device=device, memory=memory)
    for source in study.corpora:
        options: dict[str, Any] = {**study.columns, **({"data_dir": str(data_dir)} if data_dir else {})}
        corpus = load(source, **options)
        if corpus.kind == "generation":
            add_translations(found, source, options, corpus)
        else:
            add_corpus(found, source, options, corpus)
    return found


def add_corpus(
    found: StudyPlan, source: str, options: Mapping[str, Any], corpus: Corpus, taken: Run | None = None
) -> None:
    """The steps for one corpus; with a run that is taken as the base, the rest is trained around that."""
    study = found.study
    prepared, corpus = prepare(found, source, options, corpus)
    own = {**study.training, **study.training_on.get(source, {})}
    models = models_for(study, corpus)
    found.first_models[corpus.name] = model_settings(models[0]).name
    experiments = _merged(study.experiments, study.experiments_on.get(source, {}))
    run = {name: given for name, given in experiments.items() if given is not False}
    here = replace(study, experiments=run, texts=study.texts_on.get(source, study.texts))
    for model in models:
        of_encoder = study.training_of.get(model_settings(model).encoder, {})
        for seed in study.seeds:
            base = None if taken is None else take(found.plan, taken)
            block = _Block(here, found.plan, corpus, prepared, own | of_encoder, model, seed, base, places=found.places)
            block.add(found.results)
            if model.get("pretrained") is not None:  # those that it is compared with are as large
                examined = partial(to_be_trained, corpus, block.base) if taken is None else partial(of_run, taken, AUTO)
                found.examined |= {step.key: examined for step in block.trained.values()}
            if found.kind == "audit" and corpus.answers != "entities":  # those are no fixed set of classes
                block.add_baseline(found.results)


def prepare(found: StudyPlan, source: str, options: Mapping[str, Any], corpus: Corpus) -> tuple[Step, Corpus]:
    """The step that keeps the corpus, or as much of it as the study takes, and that."""
    if source not in found.fingerprints:
        found.fingerprints[source] = corpus.fingerprint()
    found.tasks[corpus.name] = corpus.kind
    settings: dict[str, Any] = {
        "name": corpus.name,
        "fingerprint": found.fingerprints[source],
        "recipe": dict(corpus.recipe),
        "notes": list(corpus.notes),  # a run tells them on
    }
    rows = found.study.rows_on.get(source, found.study.rows)
    if rows is not None and rows < len(corpus):
        settings["rows"] = rows
        corpus = corpus.sample(rows)
    places = {"source": source, "options": dict(options)}
    step = found.plan.add(
        f"prepare {corpus.name}",
        f"{STEPS}.corpus:run",
        settings,
        code_of=("attentest.corpora.stored",),  # the fingerprint says what was loaded, however that is done
        places=places,
        seconds=2,
    )
    return step, corpus


def add_run(found: StudyPlan, taken: Run, name: str | None = None) -> Step:
    """A run alone, under a name of its own if given: what needs no training, on the texts it was tested on."""
    corpus = taken.test_data().corpus
    model, seed = unusual(taken.settings["model"]), taken.record.training.seed
    found.first_models[corpus.name] = model_settings(model).name
    found.fingerprints[taken.source] = taken.record.corpus.fingerprint
    base = take(found.plan, taken)
    if found.dtype != AUTO and not taken.is_pretrained:
        taken.computed_in(found.dtype)  # refuses
    block = _Block(found.study, found.plan, corpus, None, {}, model, seed, base, name, found.places, found.dtype)
    block.add(found.results)
    if taken.is_pretrained:
        found.examined[base.key] = partial(of_run, taken, found.dtype)
    return base


def take(plan: Plan, run: Run) -> Step:
    """The step that brings a finished run into the store."""
    hashes = {name: hash_of(run.path / name) for name in FILES if (run.path / name).is_file()}
    return plan.add(
        f"take {run.name}", f"{STEPS}.taken:run", {"files": hashes}, places={"path": str(run.path.resolve())}
    )


def add_finished(found: StudyPlan, source: str, options: Mapping[str, Any], corpus: Corpus, model: Finished) -> None:
    """What needs no training, for a model that was trained elsewhere on texts that nobody knows."""
    prepared, corpus = prepare(found, source, options, corpus)
    corpus = for_test(corpus)
    about = {"labels": dict(model.labels), "text": dict(model.text)}
    settings: dict[str, Any] = {"name": model.name, "pretrained_hash": hash_of_base(model.source), **about}
    settings |= {} if model.dtype == AUTO else {"dtype": model.dtype}
    found.first_models[corpus.name] = model.name
    block = _Block(found.study, found.plan, corpus, prepared, {}, {"pretrained": model.source}, 0, places=found.places)
    block.taken = found.plan.add(
        f"take {model.name}",
        f"{STEPS}.finished:run",
        settings,
        {"corpus": prepared},
        places={"pretrained": place_of(model.source), **found.places},
        seconds=START + _tokens(corpus, None)[1] * TRIAL_COST * ENCODER_COST,
    )
    block.add(found.results)
    found.examined[block.taken.key] = partial(of_finished, corpus, model)
    if (corpus.split == "train").any():
        block.add_baseline(found.results)


def models_for(study: Study, corpus: Corpus) -> Sequence[Mapping[str, Any]]:
    """Models that say how they read pairs are for those, and the others for single texts, unless there are no such."""
    found, pairs = models_of_kind(study, corpus.kind), corpus.kind == "pair"
    if not found:
        others = "translations" if all(map(is_translator, study.models)) else "pairs"
        raise InputError(f"{corpus.name} is a {corpus.kind} corpus, but all models of {study.name} are for {others}.")
    for model in found:
        (check_pair if pairs else check_single)(model_settings(model))
    return found


def models_of_kind(study: Study, kind: str) -> list[dict[str, Any]]:
    """The models of a study that are for corpora of a kind."""
    if kind == "generation":
        return [model for model in study.models if is_translator(model)]
    models = [model for model in study.models if not is_translator(model)]
    asked = [model for model in models if model.get("decoder") in PAIR_MODELS or "pairing" in model]
    return list(asked) if kind == "pair" and asked else [model for model in models if model not in asked]


def is_translator(model: Mapping[str, Any]) -> bool:
    return "model" in model


def without_translation(named: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The trials or experiments that are for texts with labels."""
    return {name: settings for name, settings in named.items() if not is_of_translation(name)}


@dataclass
class _Block:
    """All steps for one corpus, model and seed."""

    study: Study
    plan: Plan
    corpus: Corpus
    prepared: Step | None  # the corpus; without it nothing can be trained
    training: Mapping[str, Any]
    model: Mapping[str, Any]
    seed: int
    taken: Step | None = None  # a finished run that is the base
    name: str | None = None  # what it is called instead of by its corpus and model
    places: Mapping[str, Any] = field(default_factory=lambda: {"device": "auto"})
    dtype: str = AUTO
    planted: set[str] = field(default_factory=set)  # labels of the trainings on planted words
    special: bool = False  # whether special tokens count as tokens of a text
    sinks: Step | None = None  # what looks for sinks, where these do not count

    @property
    def base(self) -> dict[str, Any]:
        """The settings that the base is trained with."""
        return {**self.training, **self.model, "seed": self.seed}

    @property
    def again(self) -> bool:
        """Whether this is a model that stands there already, with its tokens counted in another way."""
        return self.special or self.sinks is not None

    @property
    def size(self) -> float:
        """How much more than one of ours the model costs, about."""
        return 1 if self.model.get("pretrained") is None else ENCODER_COST

    @property
    def _coarse(self) -> dict[str, str]:
        """What settings of steps say of the number type: nothing of the usual one, so that keys stay."""
        return {} if self.dtype == AUTO else {"dtype": self.dtype}

    def add_baseline(self, results: dict[ResultRef, Step]) -> None:
        """What a classifier without attention makes of the same tokens."""
        assert self.prepared is not None
        text = asdict(sort_settings(self.corpus, self.training).text.in_one_piece())
        settings = {"text": {name: value for name, value in text.items() if name not in ("vectors", "dimension")}}
        step = self.plan.add(
            f"baseline of {self._label(BASE)}",
            f"{STEPS}.baseline:run",
            settings,
            {"corpus": self.prepared},
            seconds=START + self.tokens[0] * BASELINE_COST,
        )
        results[self._ref(str(len(results)), BASELINE, BASELINE)] = step

    def add(self, results: dict[ResultRef, Step]) -> None:
        refuse_added_parts(model_settings(self.model))
        trials, experiments = (without_translation(names) for names in (self.study.trials, self.study.experiments))
        refuse_added("trial", trials, TRIALS)
        refuse_added("experiment", experiments, EXPERIMENTS)
        self.tokens = _tokens(self.corpus, self.study.texts)
        self.trained = {BASE: self.taken or self._train(BASE, self.base, {})}

        def add(kind: str, name: str, step: Step) -> None:
            results[self._ref(str(len(results)), kind, name)] = step

        if self.sinks is not None:
            add(SINKS, SINKS, self.sinks)
        add(RUN, BASE, self.trained[BASE])
        for name, settings in trials.items():
            if not self.again or not trial_class(name).needs_layers:  # those count them apart
                add(TRIAL, name, self._trial(BASE, name, settings))
        if self.again:
            return
        for name, settings in experiments.items():
            if self._model_name() in settings.get(OF_MODELS, [self._model_name()]):
                own = {key: value for key, value in settings.items() if key != OF_MODELS}
                add(EXPERIMENT, name, self._experiment(name, own, self.base))
        add(INSTANCES, HEAT_MAPS, self._instances())
        if self.model.get("pretrained") is not None:
            usual = self._label(BASE)
            again = replace(self, taken=self.trained[BASE])
            replace(again, name=f"{usual}{WITH_SPECIAL}", special=True).add(results)
            replace(again, name=f"{usual}{WITHOUT_SINKS}", sinks=self._sinks()).add(results)

    def _ref(self, role: str, kind: str, name: str) -> ResultRef:
        return ResultRef(
            role=role,
            kind=kind,
            name=name,
            block=self._label(BASE),
            corpus=self.corpus.name,
            model=self._model_name(),
            projection=self.model.get("projection", "softmax"),
            seed=self.seed,
            compared=not self.again,
        )

    def _model_name(self) -> str:
        return model_settings(self.model).name

    def _label(self, label: str) -> str:
        if self.name is not None:
            return self.name
        named = ("encoder", "alignment", "structure", "pairing", "decoder", "pretrained")
        more = [
            f"{value}" if key == "projection" else f"{key}={value}"
            for key, value in self.model.items()
            if key not in named
        ]
        kind = " ".join([self._model_name(), *more])
        seed = "" if self.seed == 0 else f" seed {self.seed}"
        return f"{self.corpus.name} {kind}{seed}" + ("" if label == BASE else f", {label}")

    def _train(self, label: str, settings: Mapping[str, Any], others: Mapping[str, Step]) -> Step:
        usual = self.size if self.model.get("pretrained") else _relative_cost(settings)
        cost = self.tokens[0] * settings.get("epochs", 8) * TRAINING_COST * usual
        assert self.prepared is not None
        inputs = {"corpus": self._plant(self.prepared) if label in self.planted else self.prepared, **others}
        vectors = located(settings.get("vectors", "random"))
        check_vectors(vectors)  # a message now rather than a failed step later
        settings = dict(settings) | ({"vectors_hash": hash_of(Path(vectors))} if is_file(Path(vectors)) else {})
        name, places = f"train {self._label(label)}", {"device": self.places["device"]}
        if vectors != settings.get("vectors", "random"):
            places["vectors"] = vectors
        base = settings.pop("pretrained", None)
        if base is not None:  # the key has its hash: where it lies is no matter
            settings["pretrained_hash"], places["pretrained"] = hash_of_base(base), place_of(base)
        return self.plan.add(name, f"{STEPS}.training:run", settings, inputs, places=places, seconds=cost)

    def _plant(self, prepared: Step) -> Step:
        name, settings = f"plant words in {self.corpus.name}", {"share": PLANTED, "seed": 0, "rows": PLANTED_ROWS}
        return self.plan.add(name, f"{STEPS}.planted:run", settings, {"corpus": prepared}, seconds=2)

    def _trial(
        self, label: str, name: str, settings: Mapping[str, Any], most: int | None = None, marked: bool = False
    ) -> Step:
        """On the study's texts, or on `most` of them; only on those with a rationale if `marked`."""
        site, own = settings.get("site"), {key: value for key, value in settings.items() if key not in OF_PLACE}
        sites = sites_of(model_settings(self.model))
        if site == ALL_SITES:
            site, own = (sites[0], {**own, "all_sites": True}) if len(sites) > 1 else (None, own)
        if site is not None and site not in sites:
            raise InputError(f"{self._label(BASE)} has no site '{site}'; it has {', '.join(sites)}.")
        own_texts = settings.get("texts", self.study.texts)
        texts = min((count for count in (own_texts, most) if count is not None), default=None)
        marked = marked or label in self.planted
        tokens = self.tokens[1] if texts == self.study.texts else _tokens(self.corpus, texts)[1]
        kind, run, counting = trial_class(name), self.trained[label], (self.special, self.sinks is not None)
        return self.plan.add(
            f"{name} of {self._label(label)}" + (f" at {site}" if site else ""),
            f"{STEPS}.trial:run",
            {
                "trial": name,
                "settings": asdict(make_trial(name, **own)),  # type: ignore[call-overload]
                "texts": texts,
                **({"site": site} if site else {}),
                **({"only_marked": True} if marked else {}),
                **({"special": True} if self.special else {}),
                **self._coarse,
                **({} if label == BASE else {"pictures": False}),  # only its numbers are read
            },
            {"run": run} | ({} if self.sinks is None else {"sinks": self.sinks}),
            modules=(kind.__module__,),
            places=self.places,
            seconds=START + tokens * TRIAL_COST * kind.cost * self.size,
            together=f"{run.key} {texts} {marked} {site} {counting} {'cheap' if kind.cost <= CHEAP else 'dear'}",
        )

    def _sinks(self) -> Step:
        """Whether there are sinks is known when the model is: trials without them are planned, and may have nothing to
        do."""
        name, run = f"look for sinks of {self._label(BASE)}", self.trained[BASE]
        work, inputs = f"{STEPS}.sinks:run", {"run": run}
        return self.plan.add(name, work, self._coarse, inputs, places=self.places, seconds=START)

    def _instances(self) -> Step:
        """Heat maps; with those of the adversaries that were trained, if there are any."""
        adversaries = {
            f"adversary {label}": step
            for label, step in self.trained.items()
            if label.startswith(ADVERSARY) and label not in self.planted  # its texts are not the base's
        }
        inputs = {"run": self.trained[BASE], **adversaries}
        name, work = f"heat maps of {self._label(BASE)}", f"{STEPS}.instances:run"
        settings = {"texts": SHOWN, **self._coarse}
        return self.plan.add(name, work, settings, inputs, places=self.places, seconds=START)

    def _experiment(self, name: str, settings: Mapping[str, Any], base: Mapping[str, Any]) -> Step:
        experiment = make_experiment(name, settings)
        inputs = {f"run {BASE}": self.trained[BASE]}
        for training in experiment.trainings():
            others = {
                role: self.trained[label]
                for role in ("preset", "start", "base")
                if (label := getattr(training, role)) is not None
            }
            # the same training in two experiments is one step
            taken = {"take": list(training.taken)} if training.taken and "pretrained" not in base else {}
            changed = {**base, **training.settings, **taken}
            if training.optional and not _can_be_made(changed):
                continue
            if "seed" in training.settings:  # another one than the base's, whichever that is
                changed["seed"] = base["seed"] + training.settings["seed"]
            if training.planted:
                self.planted.add(training.label)
            step = self._train(training.label, changed, others)
            self.trained[training.label] = step
            inputs[f"run {training.label}"] = step
        if len(inputs) == 1:
            raise InputError(f"The experiment {name} has nothing to train for {self._label(BASE)}.")
        for on in experiment.trials():
            if on.label in self.trained:
                same = self.study.trials.get(on.trial, {})  # of the base it is one step, where the study asks for it
                if on.label != BASE:  # the others are examined as usual, on as many texts
                    same = {key: value for key, value in same.items() if key in OF_PLACE}
                step = self._trial(on.label, on.trial, on.settings or same, on.texts, on.only_marked)
                inputs[f"finding {on.label} {on.trial}"] = step
        module = EXPERIMENTS[name].partition(":")[0]
        return self.plan.add(
            f"experiment {name} of {self._label(BASE)}",
            f"{STEPS}.experiment:run",
            {"experiment": name, "settings": dict(settings)},
            inputs,
            modules=(module,),
            seconds=5,
        )


def _relative_cost(settings: Mapping[str, Any]) -> float:
    """How much longer a token takes than in a BiLSTM of 128 that reads 50-dimensional vectors: by the multiplications,
    and a part that does not depend on sizes. Any encoder counts as a BiLSTM, and vectors of a file have 300."""
    hidden, vectors = settings.get("hidden", ModelSettings().hidden), settings.get("vectors", "random")
    dimension = 50 if vectors == PACKAGED else settings.get("dimension", TextSettings().dimension)
    usual, own = (2 * h * (h + d) + h * h for h, d in ((128, 50), (hidden, dimension)))
    return SIZELESS + (1 - SIZELESS) * own / usual


def refuse_added(kind: str, names: Iterable[str], registry: Mapping[str, str]) -> None:
    for name in names:
        if name in registry and not registry[name].startswith("attentest."):
            raise InputError(
                f"The {kind} '{name}' ({registry[name]}) was added to attentest in this program, and steps run in "
                "other processes, which do not have it. Leave it out of the plan; your own trial can be run in this "
                f"program: attentest.trial('{name}', run)."
            )


def model_settings(given: Mapping[str, Any]) -> ModelSettings:
    known = {f.name for f in fields(ModelSettings)}
    found = ModelSettings(**{name: value for name, value in given.items() if name in known})
    found.check_parts()
    return found


def unusual(model: Mapping[str, Any]) -> dict[str, Any]:
    """What of a run's model is not as it would be anyway: its name stays short, and a pairing is one asked for."""
    usual = asdict(ModelSettings())
    return {name: value for name, value in model.items() if name not in usual or value != usual[name]}


def _can_be_made(given: Mapping[str, Any]) -> bool:
    try:
        model_settings(given)
    except InputError:
        return False
    return True


def mean_tokens(corpus: Corpus) -> float:
    """About how many tokens of a row are read, from a sample of its texts."""
    import numpy as np
    import pyarrow.compute as pc

    rows = np.linspace(0, len(corpus) - 1, min(len(corpus), 1000)).astype(int)
    most = corpus.recipe.get("max_tokens", TextSettings().max_tokens) * CHARACTERS
    texts = [corpus.table[name].take(rows) for name in ("text", "second") if name in corpus.table.column_names]
    lengths = [pc.min_element_wise(pc.utf8_length(text), most) for text in texts]
    return sum(float(pc.mean(length).as_py() or 0) for length in lengths) / CHARACTERS


def _tokens(corpus: Corpus, texts: int | None) -> tuple[float, float]:
    """About how many tokens the training split and the texts on trial have."""
    mean = mean_tokens(corpus)
    train, test = (int((corpus.split == name).sum()) for name in ("train", "test"))
    return mean * train, mean * min(test, texts or test)
