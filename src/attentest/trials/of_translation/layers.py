"""T16 of translation: which layers of encoder, decoder and across matter?"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from attentest.errors import InputError
from attentest.layer_interventions import KINDS
from attentest.measures.intervals import Estimate, mean
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.trials.base import Chart, Columns, Conclusion, column
from attentest.trials.cells import Cell, cell
from attentest.trials.layer_charts import bars_of_layers, curves_of_layers
from attentest.trials.layer_choices import ALL, BELOW, layer_choices
from attentest.trials.of_translation.base import TranslationTrial, Watch
from attentest.trials.of_translation.changed import Changed
from attentest.trials.of_translation.forced import forced_changes
from attentest.trials.of_translation.free import (
    BLEU,
    COUNTS,
    DIFFERENCE,
    about_intervals,
    bleu_figures,
    counts_of,
    named_figures,
    spelled,
)
from attentest.trials.of_translation.subject import TranslationSubject
from attentest.trials.subject import some_of

MOVED, STEPS = "mean TVD", "steps changed"  # of the table and the summary, for each change


@dataclass(frozen=True)
class TranslationLayers(TranslationTrial):
    """BLEU in free decoding and each step's distribution at a forced prefix when the weights of layers are replaced: in
    the encoder, in the decoder and across, cumulatively from the lowest or the highest, and one at a time."""

    name: ClassVar[str] = "translation-layers"
    number: ClassVar[str] = "T16"
    cost: ClassVar[float] = 60
    question: ClassVar[str] = "Which layers of encoder, decoder and between them does the translation depend on?"
    source: ClassVar[str] = "Vashishth et al. 2019 §4.3, Fig. 4 (translation)"
    how_to_read: ClassVar[str] = (
        "A curve that falls at once shows a layer whose weights the translation depends on; a flat one shows layers "
        "whose weights can be anything. Compare the three stacks with one another. A single layer without effect may "
        "still matter together with others, so read the curves next to the bars of single layers."
    )
    needs: ClassVar[str] = "a translation run of a Transformer"
    needs_sites: ClassVar[tuple[str, ...]] = ("encoder", "decoder", "across")

    kinds: tuple[str, ...] = setting(KINDS, "Weights that replace those of layers.", choices=KINDS)
    decode: int = setting(200, "Maximum number of pairs that are translated for each change.", least=1, most=1_000_000)
    seed: int = setting(
        0, "Random seed for the permutations, the random weights and the resampling.", least=0, most=LARGEST_SEED
    )

    def __post_init__(self) -> None:
        check_values(self)
        if not self.kinds:
            raise InputError(f"The trial {self.name} needs at least one of the kinds {', '.join(KINDS)}.")

    def changes(self, sites: tuple[str, ...]) -> dict[str, Changed]:
        """By what the summary calls them; the same change may have several names."""
        return {
            f"{kind}, {name}": Changed(kind, chosen)
            for kind in self.kinds
            for name, chosen in layer_choices(sites).items()
        }

    def columns(self, subject: TranslationSubject, watch: Watch) -> Columns:
        changes = list(dict.fromkeys(self.changes(in_stacks(subject.model.sites)).values()))
        some = some_of(np.arange(len(subject)), self.decode)
        part = replace(subject, rows=subject.rows[some])
        total = (len(changes) + 1) * len(part) + len(subject)
        found: dict[str, Any] = {COUNTS: _at(some, counts_of(part, spelled(part, part.own_translations)), len(subject))}
        for done, change in enumerate(changes, 1):
            watch(done * len(part), total)
            translations = spelled(part, part.translated(change.steps_of(part, self.seed)))
            found[f"{COUNTS}, {change.column}"] = _at(some, counts_of(part, translations), len(subject))
        begun = total - len(subject)
        forced = forced_changes(subject, changes, self.seed, lambda more: watch(begun + more, total))
        for change, of_change in forced.items():
            found |= {f"{MOVED}, {change.column}": of_change.tvd, f"{STEPS}, {change.column}": of_change.changed}
        return found

    def conclude(self, table: pa.Table) -> Conclusion:
        sites = _sites_of(table)
        changes = self.changes(sites)
        unique = list(dict.fromkeys(change.column for change in changes.values()))
        names = {name: change.column for name, change in changes.items()}
        named = named_figures(bleu_figures(table, unique, self.seed), names)
        first = [f"{DIFFERENCE}, {kind}, {ALL}" for kind in self.kinds]
        summary = {name: named[name] for name in first} | named
        figures = {
            name: {measure: mean(column(table, f"{measure}, {name}"), (0, 1)) for measure in (MOVED, STEPS)}
            for name in unique
        }
        for name, change in changes.items():
            summary |= {f"{measure}, {name}": figure for measure, figure in figures[change.column].items()}
        translated = summary[BLEU].n
        notes = (
            [f"BLEU is that of {translated:,} of {len(table):,} pairs (`decode`)."] if translated < len(table) else []
        )
        notes.append("The layer that matters most was chosen on these pairs, so its figure is somewhat too large.")
        return Conclusion(self._answer(summary, sites), summary, notes + about_intervals(translated))

    def _answer(self, summary: Mapping[str, Estimate], sites: tuple[str, ...]) -> str:
        kind = self.kinds[0]
        most = min(sites, key=lambda site: summary[f"{DIFFERENCE}, {kind}, {site}"].value)
        return (
            f"With {kind} weights in all layers BLEU is {summary[f'{BLEU}, {kind}, {ALL}']} instead of "
            f"{summary[BLEU]}. Of single layers, {most} matters most: {summary[f'{DIFFERENCE}, {kind}, {most}']} BLEU, "
            f"and another likeliest token in a share of {summary[f'{STEPS}, {kind}, {most}']} of the steps at a forced "
            "prefix."
        )

    @classmethod
    def cells(cls, summary: Mapping[str, Estimate], projection: str, classes: Sequence[str]) -> Iterator[Cell]:
        """Of each stack, and of each layer alone."""
        for kind in KINDS:
            whole = re.compile(rf"{DIFFERENCE}, {kind}, (\d+) {BELOW} of (\w+)")
            stacks = {found[2]: int(found[1]) for name in summary if (found := whole.fullmatch(name))}  # ever larger
            named = {f"{kind}, all of {stack}": f"{kind}, {n} {BELOW} of {stack}" for stack, n in stacks.items()}
            sites = [f"{kind}, {stack}.{n}" for stack, layers in stacks.items() for n in range(layers)]
            for variant, name in {**named, **{site: site for site in sites}}.items():
                yield cell(variant, "delta bleu", summary[f"{DIFFERENCE}, {name}"])

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        curves = curves_of_layers(
            summary,
            BLEU,
            "BLEU (0–100)",
            "BLEU by the number of layers whose weights are replaced, with 95 % intervals, as in Vashishth et al. "
            "2019, Fig. 4; with 0 the model has its own weights.",
        )
        single = bars_of_layers(
            summary,
            STEPS,
            "share of steps changed (0–1)",
            "How many steps of a forced prefix have another likeliest token when the weights of a single layer are "
            "replaced, with 95 % intervals.",
        )
        return {**curves, **single}


def in_stacks(sites: Iterable[str]) -> tuple[str, ...]:
    """In one order, whatever order they come in: the encoder's, the decoder's and those across, each from below."""

    def place(site: str) -> tuple[int, int]:
        stack, _, number = site.partition(".")
        return TranslationLayers.needs_sites.index(stack), int(number)

    return tuple(sorted(set(sites), key=place))


def _at(places: np.ndarray, values: list[str], pairs: int) -> list[str]:
    """A column with these values, and nothing for the pairs that were not translated."""
    known = dict(zip(places.tolist(), values, strict=True))
    return [known.get(place, "") for place in range(pairs)]


def _sites_of(table: pa.Table) -> tuple[str, ...]:
    """The sites that were changed one at a time, stack by stack from below."""
    ends = [name.rpartition(", ")[2] for name in table.column_names if name.startswith(f"{COUNTS}, ")]
    return in_stacks(end for end in ends if " to " not in end)
