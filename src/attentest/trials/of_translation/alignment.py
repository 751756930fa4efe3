"""Does attention align? Weights on the source against links between words."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.errors import InputError
from attentest.measures.intervals import Estimate, ratio
from attentest.settings import check_values, setting
from attentest.translation.links import LinkedPair, read_links
from attentest.translation.pieces import letters, shares_of_words
from attentest.translation.search import forced_decoding
from attentest.trials.base import Chart, Columns, Conclusion, column
from attentest.trials.charts import bars_in_groups, interval
from attentest.trials.of_translation.base import TranslationTrial, Watch
from attentest.trials.of_translation.subject import TranslationSubject

AGREEMENT, ERROR = "agreement with an automatic aligner", "alignment error rate"
PRECISION, RECALL, GAIN = "precision", "recall", "minus diagonal"
EMITTING, NEXT, DIAGONAL = "emitting step", "next step", "diagonal"
STEPS = (EMITTING, NEXT)
WORDS, SURE = "target words", "sure links"  # columns: the links that are made, and those that are sure
HITS, SURE_HITS = "links found", "sure links found"  # columns, for each of the ways to make links
GIVE = (
    "it needs links between words. Give them as the setting links (-o links=FILE): a Parquet file with the columns "
    "source, target and alignment, or lines of i-j links next to source_words and target_words, the "
    "files of tokenised sentences"
)


@dataclass(frozen=True)
class Alignment(TranslationTrial):
    """Each target word is linked to the source word with the largest weight, and these links are compared with given
    ones; the given translation is put in, so nothing is translated."""

    name: ClassVar[str] = "alignment"
    number: ClassVar[str] = ""
    question: ClassVar[str] = "Does each target word attend to the source words that it translates?"
    source: ClassVar[str] = "Och & Ney 2003 (alignment error rate); Chen et al. 2020 (the step after the word)"
    how_to_read: ClassVar[str] = (
        "If the largest weights agree with links between words better than a diagonal does, the map of the weights is "
        "roughly one of which word translates which. Links of an automatic aligner have errors of their own, so "
        "agreement with them is no error rate. A model can align well at the step after a word and badly at the step "
        "that emits it, and it can translate well without aligning at all."
    )
    needs: ClassVar[str] = "a translation run, and links between the words of its test pairs"

    links: str = setting("", "File with the links between words: Parquet with the sentences, or lines of i-j and ipj.")
    source_words: str = setting("", "File of tokenised source sentences that a file of i-j links counts.")
    target_words: str = setting("", "File of tokenised target sentences that a file of i-j links counts.")
    made_by: Literal["aligner", "people"] = setting("aligner", "Who made the links: an automatic aligner, or people.")
    first: int = setting(0, "Number of the first word of a sentence in the links.", least=0, most=1)

    def __post_init__(self) -> None:
        check_values(self)

    @property
    def measure(self) -> str:
        """An error rate needs links that are right, so made by people."""
        return ERROR if self.made_by == "people" else AGREEMENT

    def files(self) -> Mapping[str, str]:
        if not self.links:
            raise InputError(f"The trial {self.name} lacks something: {GIVE}.")
        named = {"links": self.links, "source_words": self.source_words, "target_words": self.target_words}
        return {name: place for name, place in named.items() if place}

    def applies_to(self, subject: TranslationSubject) -> bool:
        return bool(self.links)

    def lacks(self, subject: TranslationSubject) -> str:
        return GIVE

    def columns(self, subject: TranslationSubject, watch: Watch) -> Columns:
        matched = _match(subject, self._read())
        if not matched:
            raise InputError(
                f"{self.links} has links for none of the {len(subject):,} test pairs of {subject.run.path}: the "
                "sentences must be the same but for blanks and upper case."
            )
        kept = np.array(list(matched))
        some, words = replace(subject, rows=subject.rows[kept]), list(matched.values())
        found: dict[str, np.ndarray] = {}
        done = 0
        for places, batch in some.batches():
            sources = batch.sources
            forced = forced_decoding(
                some.model, sources.ids, sources.mask, batch.targets, sources.texts, some.with_weights(None)
            )
            weights = {site: forced.weights[site] for site in some.model.source_sites}
            for name, values in _counted([words[place] for place in places], weights).items():
                found.setdefault(name, np.full(len(subject), np.nan))[kept[places]] = values
            done += len(places)
            watch(done, len(some))
        return found

    def _read(self) -> list[LinkedPair]:
        source, target = (Path(name) if name else None for name in (self.source_words, self.target_words))
        return read_links(Path(self.links), source, target, self.first)

    def conclude(self, table: pa.Table) -> Conclusion:
        views = [name.removeprefix(f"{HITS}, ") for name in table.column_names if name.startswith(f"{HITS}, ")]
        made, sure = column(table, WORDS), column(table, SURE)
        summary: dict[str, Estimate] = {}
        tops = {view: column(table, f"{HITS}, {view}") + column(table, f"{SURE_HITS}, {view}") for view in views}
        for view in views:
            summary[f"{self.measure}, {view}"] = self._figure(_share(tops[view], made + sure), 1)
        for view in (view for view in views if view != DIAGONAL):
            gain = _share(tops[view] - tops[DIAGONAL], made + sure, -1)  # as many links are made on both sides
            summary[f"{self.measure} {GAIN}, {view}"] = self._figure(gain, 0)
        for view in views:
            summary[f"{PRECISION}, {view}"] = _share(column(table, f"{HITS}, {view}"), made)
            summary[f"{RECALL}, {view}"] = _share(column(table, f"{SURE_HITS}, {view}"), sure)
        left = int(np.isnan(made).sum())
        notes = [f"{left:,} of {len(made):,} test pairs have no links, or were cut, and are left out."] if left else []
        return Conclusion(self._answer(summary, views), summary, notes)

    def _figure(self, agreement: Estimate, best: float) -> Estimate:
        """As an error it is what `best` agreement is more."""
        if self.measure == AGREEMENT:
            return agreement
        return Estimate(best - agreement.value, best - agreement.high, best - agreement.low, agreement.n)

    def _answer(self, summary: Mapping[str, Estimate], views: Sequence[str]) -> str:
        site = views[0].partition(",")[0]
        of = f"{self.measure}, "
        figures = [f"{of}{view}" for view in views if view != DIAGONAL]
        best = (max if self.measure == AGREEMENT else min)(figures, key=lambda name: summary[name].value)
        answer = (
            f"If each target word is linked to the source word with the largest weight at {site}, the {self.measure} "
            f"is {summary[f'{of}{site}, {EMITTING}']} at the step that emits the word and "
            f"{summary[f'{of}{site}, {NEXT}']} at the step after it; links along the diagonal have "
            f"{summary[f'{of}{DIAGONAL}']}."
        )
        if len(figures) > len(STEPS):
            answer += f" The best of all layers and heads, chosen on the same pairs: {best.removeprefix(of)}, "
            answer += f"{summary[best]}."
        return answer

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        measure = next((name for name in (AGREEMENT, ERROR) if f"{name}, {DIAGONAL}" in summary), None)
        if measure is None:
            return {}
        rule = ("the diagonal", summary[f"{measure}, {DIAGONAL}"].value)
        about = (
            f"{measure} of links to the source word with the largest weight, with 95 % intervals; the line is that of"
        )
        layers = _rows(summary, measure, heads=False)
        heads = _rows(summary, measure, heads=True)
        found = {}
        if layers:
            found[f"{measure} by layer"] = bars_in_groups(
                layers, ("layer", "step"), f"{measure} (0–1)", f"{about.capitalize()} the diagonal.", rule=rule
            )
        for step in STEPS:
            rows = [row for row in heads if row["step"] == step]
            if rows:
                found[f"{measure} by head, {step}"] = bars_in_groups(
                    rows,
                    ("layer", "head"),
                    f"{measure} (0–1)",
                    f"{about.capitalize()} the diagonal. Each bar is a head, at the {step}.",
                    coloured=False,
                    rule=rule,
                )
        return found


def _share(part: np.ndarray, whole: np.ndarray, least: float = 0) -> Estimate:
    """Fieller's interval knows no bounds; beyond these nothing is possible."""
    found = ratio(part, whole)
    low, high = (min(max(limit, least), 1.0) if not math.isnan(limit) else limit for limit in (found.low, found.high))
    return replace(found, low=low, high=high)


def _rows(summary: Mapping[str, Estimate], measure: str, heads: bool) -> list[dict[str, Any]]:
    """Of the layers from the first to the last, as which the summary does not have them."""
    found = list(_found(summary, measure, heads))
    layers = list(dict.fromkeys(row["layer"] for row in found))
    return sorted(found, key=lambda row: -layers.index(row["layer"]))


def _found(summary: Mapping[str, Estimate], measure: str, heads: bool) -> Iterator[dict[str, Any]]:
    of_head = r" head (\d{1,4})" if heads else "()"
    for name, estimate in summary.items():
        found = re.fullmatch(rf"{measure}, ([\w.-]{{1,60}}){of_head}, ({'|'.join(STEPS)})", name)
        if found:
            placed = {"layer": found[1], "head": found[2], "step": found[3]}
            yield from ({**row, **placed} for row in interval("", estimate))


@dataclass(frozen=True)
class _Words:
    """A pair's words: which tokens they are made of, and the links between them (target × source)."""

    source: Float[np.ndarray, "tokens words"]  # shares of each token
    target: Float[np.ndarray, "words tokens"]  # the mean over a word's tokens
    sure: Bool[np.ndarray, "target source"]
    possible: Bool[np.ndarray, "target source"]


def _match(subject: TranslationSubject, pairs: Sequence[LinkedPair]) -> dict[int, _Words]:
    """By place in the subject: the words of the pairs that have links and were not cut."""
    known: dict[tuple[str, str], LinkedPair] = {}
    for pair in pairs:
        known.setdefault((letters("".join(pair.source)), letters("".join(pair.target))), pair)
    most, run = subject.run.record.text.max_tokens, subject.run
    found = {}
    for place, texts in enumerate(zip(subject.source_texts, subject.references, strict=True)):
        linked = known.get((letters(texts[0]), letters(texts[1])))
        spans = run.source_tokens.spans(texts[0]), run.target_tokens.spans(texts[1])
        if linked is None or not linked.possible or max(map(len, spans)) > most:
            continue
        source = shares_of_words(texts[0], spans[0], linked.source)
        target = shares_of_words(texts[1], spans[1], linked.target)
        if source is not None and target is not None:
            found[place] = _words(source, target, linked)
    return found


def _words(source: np.ndarray, target: np.ndarray, linked: LinkedPair) -> _Words:
    parts = (target > 0).T
    shape = len(linked.target), len(linked.source)
    links = np.zeros((2, *shape), bool)
    for kind, some in enumerate((linked.sure, linked.possible)):
        for i, j in some:
            links[kind, j, i] = True
    return _Words(source, parts / parts.sum(1, keepdims=True), links[0], links[1])


def _counted(
    words: Sequence[_Words], weights: Mapping[str, Float[Tensor, "batch heads steps tokens"]]
) -> dict[str, np.ndarray]:
    """Columns of a batch: links made, sure links, and for each way to make links how many of them are right."""
    device = next(iter(weights.values())).device
    sure, possible = (_padded([getattr(one, name) for one in words]).to(device) for name in ("sure", "possible"))
    lengths = [torch.tensor([one.sure.shape[side] for one in words], device=device) for side in (0, 1)]
    real = [torch.arange(sure.shape[1 + side], device=device) < lengths[side][:, None] for side in (0, 1)]
    found = {WORDS: lengths[0], SURE: sure.sum((1, 2))}

    def count(view: str, best: Int[Tensor, "batch target"]) -> None:
        for name, links in ((HITS, possible), (SURE_HITS, sure)):
            found[f"{name}, {view}"] = (links.gather(-1, best[..., None])[..., 0] * real[0]).sum(1)

    for site in reversed(list(weights)):  # the last one first: it is the one that stands for a model
        best, heads = _best(words, weights[site], real[1]), weights[site].shape[1]
        for step in STEPS:
            count(f"{site}, {step}", best[step][:, 0])
        for head in range(heads if heads > 1 else 0):
            for step in STEPS:
                count(f"{site} head {head}, {step}", best[step][:, 1 + head])
    count(DIAGONAL, _diagonal(lengths[0], lengths[1], sure.shape[1]))
    return {name: values.cpu().numpy() for name, values in found.items()}


def _best(
    words: Sequence[_Words], weights: Float[Tensor, "batch heads steps tokens"], real: Bool[Tensor, "batch source"]
) -> dict[str, Int[Tensor, "batch 1+heads target"]]:
    """The heaviest source word of each target word, of the mean over heads and of each head, by step."""
    steps, tokens = weights.shape[2:]
    source = _padded([one.source for one in words], (tokens, real.shape[1])).to(weights)
    found = {}
    for late, step in enumerate(STEPS):
        # a token is put in at the step after the one that emits it; for the last one that is the step of the end
        moved = [np.pad(one.target, ((0, 0), (late, 0))) for one in words]
        target = _padded(moved, (max(len(one) for one in moved), steps)).to(weights)
        of_words = torch.einsum("bwq,bhqk,bks->bhws", target, weights, source)
        both = torch.cat((of_words.mean(1, keepdim=True), of_words), 1)
        found[step] = both.masked_fill(~real[:, None, None], -1).argmax(-1)
    return found


def _diagonal(target: Int[Tensor, "batch"], source: Int[Tensor, "batch"], longest: int) -> Int[Tensor, "batch longest"]:
    """Target word j is linked to source word round(j · I / J), at most the last."""
    places = torch.arange(longest, device=target.device)
    along = (places * source[:, None] / target[:, None] + 0.5).floor().long()
    return torch.minimum(along, source[:, None] - 1)


def _padded(matrices: Sequence[np.ndarray], shape: tuple[int, int] | None = None) -> Tensor:
    """Side by side, filled up with 0."""
    sizes = shape or tuple(max(one.shape[side] for one in matrices) for side in (0, 1))
    found = np.zeros((len(matrices), *sizes), np.int64 if matrices[0].dtype == bool else np.float64)
    for place, one in enumerate(matrices):
        found[place, : one.shape[0], : one.shape[1]] = one
    return torch.from_numpy(found)
