"""What a study's YAML may say, with the line of whatever it may not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, get_args

import yaml

from attentest.corpora.corpus import FEWEST_ROWS, Kind
from attentest.errors import InputError
from attentest.settings import LARGEST, Setting
from attentest.studies.directions import Direction, Side
from attentest.training.settings import GROUPS, check_setting
from attentest.translation.settings import translation_settings

BUDGETS = ("quick", "standard", "paper")  # of audits, too
WHOLE = "paper"  # the budget that a study has without saying so
OLD_BUDGETS = {"small": "standard"}  # earlier names
LONGEST, MOST_VALUES = 1_000_000, 100_000  # bytes and values of a study
TASKS = get_args(Kind)  # that a direction may be claimed for
ALL_SITES = "all"  # of a model at once: the words and the sentences of a hierarchical one
SITES = ("token", "word", "sentence", ALL_SITES)  # where a trial may look at a model
OF_PLACE = ("site", "texts")  # where and on how many texts a trial is run: no settings of its own
OF_MODELS = "models"  # names of the models that an experiment is for: no setting of its own
BY_NAME = ("training_on", "training_of", "experiments_on")  # what is other for a corpus or an encoder
LEAST = {"rows": FEWEST_ROWS, "texts": 1}  # numbers of a study that can be limited, and how far
LIMITS_ON = {"rows_on": "rows", "texts_on": "texts"}  # another limit for one corpus
PAPERS = ("jain2019", "serrano2019", "wiegreffe2019", "vashishth2019", "meister2021", "wen2022")


@dataclass(frozen=True)
class Study:
    """A grid of corpora and models, what to train on each, and which trials and experiments to hold.

    `budgets` say what a budget changes: rows, texts, seeds, training, and the settings of trials and experiments; and
    what else then differs from the paper.
    """

    name: str
    title: str = ""
    paper: str = ""  # whose published figures to set ours beside
    corpora: tuple[str, ...] = ()
    columns: dict[str, Any] = field(default_factory=dict)  # of files: text, label, split, …
    models: tuple[dict[str, Any], ...] = ({},)
    seeds: tuple[int, ...] = (0,)
    training: dict[str, Any] = field(default_factory=dict)
    training_on: dict[str, dict[str, Any]] = field(default_factory=dict)  # what is other on one corpus, by its name
    training_of: dict[str, dict[str, Any]] = field(default_factory=dict)  # what is other for an encoder, by its name
    rows: int | None = None  # of each corpus at most, evenly from its splits and classes; all if not given
    rows_on: dict[str, int] = field(default_factory=dict)  # another limit for one corpus, by its name
    texts: int | None = None  # test texts that trials examine; all if not given
    texts_on: dict[str, int] = field(default_factory=dict)  # another number on one corpus, by its name
    trials: dict[str, dict[str, Any]] = field(default_factory=dict)
    experiments: dict[str, dict[str, Any]] = field(default_factory=dict)
    # what is other on one corpus: settings by experiment, or false for one that is not run there
    experiments_on: dict[str, dict[str, Any]] = field(default_factory=dict)
    budgets: dict[str, dict[str, Any]] = field(default_factory=dict)
    tolerances: dict[str, float] = field(default_factory=dict)  # of published tables
    directions: tuple[Direction, ...] = ()  # what the paper found, to be held against ours
    not_covered: dict[str, str] = field(default_factory=dict)  # published table or figure -> why
    deviations: dict[str, str] = field(default_factory=dict)  # setting that is not the paper's -> what was run, and why


def read_study(path: Path) -> Study:
    try:
        if path.stat().st_size > LONGEST:
            raise InputError(f"{path} is too long for a study: it has more than {LONGEST // 1000:,} KB.")
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=_Loader)
        _check_size(path, node)
        content = yaml.load(text, Loader=_Loader)  # a SafeLoader
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except RecursionError as error:
        raise InputError(f"{path} is not a study: its values are nested too deep.") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or node is None:
        raise InputError(f"{path} is not a study: it must have keys such as name, corpora and trials.")
    lines = _lines(node)
    _check_keys(path, lines, (), content, [f.name for f in fields(Study)])
    return _Reader(path, lines).study({"name": path.stem} | content)


def _check_size(path: Path, node: yaml.Node | None) -> None:
    """Refuse aliases that name themselves, or each other until they are millions of values."""
    sizes: dict[int, int] = {}  # by node: as many values as it stands for, 0 while that is being counted

    def size(one: Any) -> int:
        known = sizes.get(id(one))
        if known is not None:
            if not known:
                raise InputError(f"{path}, line {one.start_mark.line + 1}: an alias names what it is part of.")
            return known
        sizes[id(one)] = 0
        inner: Iterable[Any] = ()
        if isinstance(one, yaml.MappingNode):
            inner = (part for pair in one.value for part in pair)
        elif isinstance(one, yaml.SequenceNode):
            inner = one.value
        sizes[id(one)] = 1 + sum(size(part) for part in inner)
        return sizes[id(one)]

    if node is not None and size(node) > MOST_VALUES:
        raise InputError(f"{path} is not a study: its aliases stand for more than {MOST_VALUES:,} values.")


class _Loader(yaml.SafeLoader):  # type: ignore[misc]  # PyYAML has no types
    """YAML 1.1 takes 1e-4 for text; here it is a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float", re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"), list("-+0123456789.")
)


@dataclass(frozen=True)
class _Reader:
    path: Path
    lines: dict[tuple[str, ...], int]

    def study(self, content: dict[str, Any]) -> Study:
        found = dict(content)
        for key in ("trials", "experiments"):
            if key in found:
                found[key] = self._named((key,), found[key])
        for key, kind in (("corpora", str), ("models", dict), ("seeds", int)):
            if key in found:
                found[key] = self._listed((key,), found[key], kind)
        named = ("columns", "training", "budgets", "tolerances", "not_covered", "deviations", *LIMITS_ON, *BY_NAME)
        for key in named:
            if not isinstance(found.get(key, {}), dict):
                self._refuse((key,), "names with values")
        if not found.get("corpora"):
            raise InputError(f"{self.path}: corpora are missing; name at least one, e.g. corpora: [sst].")
        if found.get("paper") and found["paper"] not in PAPERS:
            self._refuse(("paper",), f"one of {', '.join(PAPERS)}")
        for table, tolerance in found.get("tolerances", {}).items():
            number = isinstance(tolerance, int | float) and not isinstance(tolerance, bool)
            if not number or not math.isfinite(tolerance):
                self._refuse(("tolerances", table), "a number")
        for key, least in LEAST.items():
            self._check_number((key,), found.get(key), least)
        for seed in found.get("seeds", ()):
            self._attempt(("seeds",), lambda: check_setting("seed", seed))  # noqa: B023
        for place, model in enumerate(found.get("models", ())):
            self._check_training(("models", str(place)), model)
        self._check_parts((), found)
        self._check_by_name((), found, found)
        self._check_limits_on((), found, found)
        if "directions" in found:
            given = self._listed(("directions",), found["directions"], dict)
            found["directions"] = tuple(self._direction(str(n), row, found["corpora"]) for n, row in enumerate(given))
        if "budgets" in found:
            budgets = {name: self._budget(name, given, found) for name, given in found["budgets"].items()}
            found["budgets"] = {OLD_BUDGETS.get(name, name): changes for name, changes in budgets.items()}
        return Study(**found)

    def _check_parts(self, place: tuple[str, ...], found: dict[str, Any]) -> None:
        from attentest.studies.experiments import EXPERIMENTS, make_experiment
        from attentest.trials import TRIALS, make_trial, trial_class
        from attentest.trials.of_translation import OF_TRANSLATION

        self._check_training((*place, "training"), found.get("training", {}))
        for key in ("training_on", "training_of"):
            for name, given in found.get(key, {}).items():
                self._check_training((*place, key, name), given)
        _check_keys(self.path, self.lines, (*place, "trials"), found.get("trials", {}), [*TRIALS, *OF_TRANSLATION])
        _check_keys(self.path, self.lines, (*place, "experiments"), found.get("experiments", {}), EXPERIMENTS)
        for name, settings in found.get("trials", {}).items():
            own = {key: value for key, value in settings.items() if key not in OF_PLACE}
            self._attempt((*place, "trials", name), lambda: make_trial(name, **own))  # noqa: B023
            if settings.get("site", SITES[0]) not in SITES:
                self._refuse((*place, "trials", name, "site"), f"one of {', '.join(SITES)}")
            if "texts" in settings:
                self._check_number((*place, "trials", name, "texts"), settings["texts"], LEAST["texts"])
            if settings.get("site") == ALL_SITES and not takes_all_sites(trial_class(name)):
                self._refuse((*place, "trials", name, "site"), f"another than {ALL_SITES}")
        for name, settings in found.get("experiments", {}).items():
            own = {key: value for key, value in settings.items() if key != OF_MODELS}
            if not isinstance(settings.get(OF_MODELS, []), list):
                self._refuse((*place, "experiments", name, OF_MODELS), "a list of names")
            self._attempt((*place, "experiments", name), lambda: make_experiment(name, own).trainings())  # noqa: B023

    def _check_by_name(self, place: tuple[str, ...], given: dict[str, Any], found: dict[str, Any]) -> None:
        """Corpora and encoders are known, and what is other in an experiment is a setting of one of the study's."""
        from attentest.models.encoders import ENCODERS
        from attentest.studies.experiments import make_experiment

        corpora, experiments = found["corpora"], found.get("experiments", {})
        for key, known in (("training_on", corpora), ("training_of", ENCODERS), ("experiments_on", corpora)):
            _check_keys(self.path, self.lines, (*place, key), given.get(key, {}), known)
        for corpus, changes in given.get("experiments_on", {}).items():
            where = (*place, "experiments_on", corpus)
            if not isinstance(changes, dict):
                self._refuse(where, "experiments with settings")
            _check_keys(self.path, self.lines, where, changes, experiments)
            for name, settings in changes.items():
                if settings is not False and not isinstance(settings, dict):
                    self._refuse((*where, name), "settings, or false where it is not run")
                merged = {**experiments[name], **(settings or {})}
                merged.pop(OF_MODELS, None)
                self._attempt((*where, name), lambda: make_experiment(name, merged).trainings())  # noqa: B023

    def _check_limits_on(self, place: tuple[str, ...], given: dict[str, Any], found: dict[str, Any]) -> None:
        for key, limited in LIMITS_ON.items():
            _check_keys(self.path, self.lines, (*place, key), given.get(key, {}), found["corpora"])
            for corpus, most in given.get(key, {}).items():
                if most is None:
                    self._refuse((*place, key, corpus), f"a whole number of at least {LEAST[limited]}")
                self._check_number((*place, key, corpus), most, LEAST[limited])

    def _attempt(self, place: tuple[str, ...], work: Callable[[], object]) -> None:
        try:
            work()
        except InputError as error:
            raise InputError(f"{self.path}, line {self._line(place)}: {error}") from error

    def _listed(self, place: tuple[str, ...], given: Any, kind: type) -> tuple[Any, ...]:
        words = {str: "names", int: "whole numbers", dict: "settings"}
        right = isinstance(given, list) and given and all(type(entry) is kind for entry in given)
        return tuple(given) if right else self._refuse(place, f"a list of {words[kind]}")

    def _check_number(self, place: tuple[str, ...], given: Any, least: int) -> None:
        if given is not None and (type(given) is not int or not least <= given <= LARGEST):
            self._refuse(place, f"a whole number of at least {least}")

    def _named(self, place: tuple[str, ...], given: Any) -> dict[str, dict[str, Any]]:
        """Names, alone or with their settings, as a list or as a mapping."""
        entries = [{key: value} for key, value in given.items()] if isinstance(given, dict) else given
        if not isinstance(entries, list):
            self._refuse(place, "a list of names")
        found: dict[str, dict[str, Any]] = {}
        for entry in entries:
            named = {entry: {}} if isinstance(entry, str) else entry
            if not isinstance(named, dict) or not all(isinstance(value or {}, dict) for value in named.values()):
                self._refuse(place, "a list of names, each alone or with its settings")
            found |= {name: value or {} for name, value in named.items()}
        return found

    def _check_training(self, place: tuple[str, ...], given: Any) -> None:
        if not isinstance(given, dict):
            self._refuse(place, "names with values")
        of_translation = translation_settings()
        known = {f.name for kind in GROUPS.values() for f in fields(kind)}
        _check_keys(self.path, self.lines, place, given, [*sorted(known), *of_translation])
        for name, value in given.items():
            if name not in known:
                self._attempt((*place, name), lambda: of_translation[name][1].checked(value))  # noqa: B023
            elif name not in of_translation or not _is_checked(of_translation[name][1], value):
                self._attempt((*place, name), lambda: check_setting(name, value))  # noqa: B023

    def _direction(self, number: str, row: dict[str, Any], known: Sequence[str]) -> Direction:
        place = ("directions", number)
        needed = ["says", "source", "more", "less"]
        _check_keys(self.path, self.lines, place, row, [*needed, "task", "corpora"])
        for name in needed:
            if name not in row:
                line = self._line(place)
                raise InputError(f"{self.path}, line {line}: a direction has {', '.join(needed)}; {name} is missing.")
        more, less = (self._side((*place, name), row[name]) for name in ("more", "less"))
        if row.get("task", TASKS[0]) not in TASKS:
            self._refuse((*place, "task"), f"one of {', '.join(TASKS)}")
        corpora = self._listed((*place, "corpora"), row["corpora"], str) if "corpora" in row else ()
        _check_keys(self.path, self.lines, (*place, "corpora"), corpora, known)
        return Direction(str(row["says"]), str(row["source"]), more, less, row.get("task", ""), corpora)

    def _side(self, place: tuple[str, ...], given: Any) -> Side:
        if isinstance(given, int | float) and not isinstance(given, bool) and math.isfinite(given):
            return Side(number=float(given))
        if not isinstance(given, dict) or not {"variant", "measure"} <= set(given):
            self._refuse(place, "a number, or a variant and a measure")
        _check_keys(self.path, self.lines, place, given, ("model", "variant", "measure"))
        return Side(str(given["variant"]), str(given["measure"]), str(given.get("model", "")))

    def _budget(self, budget: str, changes: Any, found: dict[str, Any]) -> dict[str, Any]:
        """What a budget changes, checked together with what it changes."""
        _check_keys(self.path, self.lines, ("budgets",), {budget: 0}, (*BUDGETS, *OLD_BUDGETS))
        if not isinstance(changes, dict):
            self._refuse(("budgets", budget), "what it changes")
        known = (*LEAST, *LIMITS_ON, "training", *BY_NAME, "trials", "experiments", "seeds", "deviations")
        _check_keys(self.path, self.lines, ("budgets", budget), changes, known)
        place = ("budgets", budget)
        for key, least in LEAST.items():
            self._check_number((*place, key), changes.get(key), least)
        if "seeds" in changes:
            for seed in self._listed((*place, "seeds"), changes["seeds"], int):
                self._attempt((*place, "seeds"), lambda: check_setting("seed", seed))  # noqa: B023
        named = {key: self._named((*place, key), changes.get(key, {})) for key in ("trials", "experiments")}
        merged: dict[str, Any] = {key: changes.get(key, {}) for key in ("training", "training_on", "training_of")}
        for key in ("deviations", *LIMITS_ON, *BY_NAME):
            if not isinstance(changes.get(key, {}), dict):
                self._refuse((*place, key), "names with values")
        self._check_by_name(place, changes, found)
        self._check_limits_on(place, changes, found)
        for key, parts in named.items():
            _check_keys(self.path, self.lines, (*place, key), parts, found.get(key, {}))
            merged[key] = {name: {**found[key][name], **settings} for name, settings in parts.items()}
        self._check_parts(place, merged)
        return {**changes, **named}

    def _line(self, place: tuple[str, ...]) -> int:
        return next((self.lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in self.lines), 1)

    def _refuse(self, place: tuple[str, ...], expected: str) -> Any:
        raise InputError(f"{self.path}, line {self._line(place)}: {place[-1]} must be {expected}.")


def checked_change(path: Path, study: Study, budget: str, change: Mapping[str, Any]) -> dict[str, Any]:
    """What changes a study that was read, checked as a budget is."""
    found = {"corpora": study.corpora, "trials": study.trials, "experiments": study.experiments}
    return _Reader(path, {})._budget(budget, change, found)


def takes_all_sites(trial: type[Any]) -> bool:
    return any(one.name == "all_sites" for one in fields(trial))


def _is_checked(setting: Setting, value: Any) -> bool:
    """Whether a translation model takes this value of a setting that other models have, too."""
    try:
        setting.checked(value)
    except InputError:
        return False
    return True


def _check_keys(
    path: Path, lines: dict[tuple[str, ...], int], place: tuple[str, ...], given: Iterable[str], known: Iterable[str]
) -> None:
    names = list(known)
    for key in given:
        if key not in names:
            line = lines.get((*place, str(key)), lines.get(place, 1))
            nearest = get_close_matches(str(key), names, n=1, cutoff=0.5)
            hint = f"did you mean '{nearest[0]}'?" if nearest else f"choose from: {', '.join(names)}."
            where = f" in {'.'.join(place)}" if place else ""
            raise InputError(f"{path}, line {line}: '{key}' is not known{where}; {hint}")


def _lines(node: yaml.Node, place: tuple[str, ...] = ()) -> dict[tuple[str, ...], int]:
    """The line of every key; a list of names counts as keys, too."""
    found = {place: node.start_mark.line + 1}
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            found |= _lines(value, (*place, str(key.value))) | {(*place, str(key.value)): key.start_mark.line + 1}
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            if isinstance(value, yaml.ScalarNode):
                found[(*place, str(value.value))] = value.start_mark.line + 1
            elif isinstance(value, yaml.MappingNode):
                found |= _lines(value, place) | _lines(value, (*place, str(number)))
    return found
