"""What a study's YAML may say, with the line of whatever it may not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from attentest.errors import InputError

BUDGETS = ("small", "paper")


@dataclass(frozen=True)
class Study:
    """A grid of corpora and models, what to train on each, and which trials and experiments to hold.

    `budgets` say what the budget small or paper changes: texts, training, and the settings of trials and experiments.
    """

    name: str
    title: str = ""
    paper: str = ""  # whose published figures to set ours beside
    corpora: tuple[str, ...] = ()
    columns: dict[str, str] = field(default_factory=dict)  # of files: text, label, split, …
    models: tuple[dict[str, Any], ...] = ({},)
    seeds: tuple[int, ...] = (0,)
    training: dict[str, Any] = field(default_factory=dict)
    texts: int | None = None  # test texts that trials examine; all if not given
    trials: dict[str, dict[str, Any]] = field(default_factory=dict)
    experiments: dict[str, dict[str, Any]] = field(default_factory=dict)
    budgets: dict[str, dict[str, Any]] = field(default_factory=dict)
    tolerances: dict[str, float] = field(default_factory=dict)  # of published tables
    not_covered: dict[str, str] = field(default_factory=dict)  # published table or figure -> why


def read_study(path: Path) -> Study:
    try:
        text = path.read_text(encoding="utf-8")
        node = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not YAML: {' '.join(str(error).split())}") from error
    if not isinstance(content, dict) or node is None:
        raise InputError(f"{path} is not a study: it must have keys such as name, corpora and trials.")
    lines = _lines(node)
    _check_keys(path, lines, (), content, [f.name for f in fields(Study)])
    return _Reader(path, lines).study({"name": path.stem} | content)


@dataclass(frozen=True)
class _Reader:
    path: Path
    lines: dict[tuple[str, ...], int]

    def study(self, content: dict[str, Any]) -> Study:
        from attentest.studies.experiments import EXPERIMENTS, make_experiment
        from attentest.trials import TRIALS, make_trial

        found = dict(content)
        for key in ("trials", "experiments"):
            if key in found:
                found[key] = self._named(key, found[key])
        for key in ("corpora", "models", "seeds"):
            if key in found:
                found[key] = tuple(found[key]) if isinstance(found[key], list) else self._refuse((key,), "a list")
        for key in ("columns", "training", "budgets", "tolerances", "not_covered"):
            if not isinstance(found.get(key, {}), dict):
                self._refuse((key,), "names with values")
        if not found.get("corpora"):
            raise InputError(f"{self.path}: corpora are missing; name at least one, e.g. corpora: [sst].")
        self._check_names(("trials",), found.get("trials", {}), TRIALS, make_trial_check=make_trial)
        self._check_names(("experiments",), found.get("experiments", {}), EXPERIMENTS, make_experiment=make_experiment)
        self._check_training(("training",), found.get("training", {}))
        for place, model in enumerate(found.get("models", ())):
            self._check_training(("models", str(place)), model)
        for budget, changes in found.get("budgets", {}).items():
            self._check_budget(budget, changes, found)
        return Study(**found)

    def _named(self, key: str, given: Any) -> dict[str, dict[str, Any]]:
        """Names, alone or with their settings, as a list or as a mapping."""
        if isinstance(given, dict):
            return {name: settings or {} for name, settings in given.items()}
        if not isinstance(given, list):
            self._refuse((key,), "a list of names")
        found: dict[str, dict[str, Any]] = {}
        for entry in given:
            found |= {entry: {}} if isinstance(entry, str) else {name: value or {} for name, value in entry.items()}
        return found

    def _check_names(
        self,
        place: tuple[str, ...],
        given: dict[str, dict[str, Any]],
        known: Iterable[str],
        make_trial_check: Any = None,
        make_experiment: Any = None,
    ) -> None:
        _check_keys(self.path, self.lines, place, given, known)
        for name, settings in given.items():
            try:
                if make_trial_check is not None:
                    make_trial_check(name, **settings)
                else:
                    make_experiment(name, settings)
            except InputError as error:
                raise InputError(f"{self.path}, line {self._line((*place, name))}: {error}") from error

    def _check_training(self, place: tuple[str, ...], given: Any) -> None:
        from attentest.training.settings import GROUPS

        if not isinstance(given, dict):
            self._refuse(place, "names with values")
        known = [f.name for kind in GROUPS.values() for f in fields(kind)]
        _check_keys(self.path, self.lines, place, given, known)

    def _check_budget(self, budget: str, changes: Any, found: dict[str, Any]) -> None:
        _check_keys(self.path, self.lines, ("budgets",), {budget: 0}, BUDGETS)
        if not isinstance(changes, dict):
            self._refuse(("budgets", budget), "what it changes")
        known = ("texts", "training", "trials", "experiments", "seeds")
        _check_keys(self.path, self.lines, ("budgets", budget), changes, known)
        for key in ("trials", "experiments"):
            _check_keys(self.path, self.lines, ("budgets", budget, key), changes.get(key, {}), found.get(key, {}))

    def _line(self, place: tuple[str, ...]) -> int:
        return next((self.lines[place[:n]] for n in range(len(place), -1, -1) if place[:n] in self.lines), 1)

    def _refuse(self, place: tuple[str, ...], expected: str) -> Any:
        raise InputError(f"{self.path}, line {self._line(place)}: {place[-1]} must be {expected}.")


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
