"""Which words of its translations does a model choose whatever its weights are?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Int

from attentest.layer_interventions import DROPPED, PERMUTED, UNIFORM
from attentest.measures.intervals import Estimate, mean
from attentest.settings import LARGEST_SEED, check_values, setting
from attentest.text.sequences import Sequences
from attentest.translation.data import by_length, flat
from attentest.translation.search import shifted
from attentest.trials.base import Chart, Columns, Conclusion, column, words
from attentest.trials.charts import bars_in_groups, interval
from attentest.trials.of_translation.base import TranslationTrial, Watch
from attentest.trials.of_translation.changed import Changed
from attentest.trials.of_translation.forced import likeliest
from attentest.trials.of_translation.subject import TranslationSubject
from attentest.trials.of_translation.word_groups import CONTENT, FUNCTION, GROUPS, function_words, word_spans

VARIANTS = (UNIFORM, PERMUTED, DROPPED)
FROM = "function words from"  # column, the same for all pairs


@dataclass(frozen=True)
class TranslationWords(TranslationTrial):
    """The share of the words of the model's own translation that stay the likeliest when the weights on the source are
    replaced at their step alone. A word of several subwords stays if all of them do."""

    name: ClassVar[str] = "translation-words"
    number: ClassVar[str] = "after T1"
    question: ClassVar[str] = "Which words does the model choose whatever its weights on the source are?"
    source: ClassVar[str] = "Moradi, Kambhatla & Sarkar 2019"
    how_to_read: ClassVar[str] = (
        "Words that stay under any weights follow from the words before them, and weights at their step explain "
        "nothing. Function words usually stay more often than content words. A word that changes depended on the "
        "weights; that does not prove that its heaviest source token is what it depended on."
    )
    cost: ClassVar[float] = 5
    headline: ClassVar[str] = f"{CONTENT} kept, {UNIFORM}"

    language: Literal["auto", "en", "de", "none"] = setting(
        "auto", "Language of the list of function words; none counts the most frequent words instead."
    )
    function_words: int = setting(
        100, "Number of most frequent target words to count where there is no list.", least=1, most=1_000_000
    )
    words_file: str = setting("", "File of function words, one a line, in place of a list.", otherwise="none")
    seed: int = setting(0, "Random seed for the permutations.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)

    def files(self) -> Mapping[str, str]:
        return {"words_file": self.words_file} if self.words_file else {}

    def columns(self, subject: TranslationSubject, watch: Watch) -> Columns:
        known = function_words(subject.run, self.language, self.function_words, self.words_file)
        prefixes = flat([np.array(one.tokens, np.int32) for one in subject.own_translations])
        kept = kept_tokens(subject, prefixes, VARIANTS, self.seed, watch)
        spans = [
            (pair, GROUPS.index(known.group(word)), offset + first, offset + past)
            for pair, offset in enumerate(prefixes.offsets[:-1].tolist())
            for word, first, past in word_spans(subject.run.target_tokens, prefixes[pair].tolist())
        ]
        pair, group, first, past = np.array(spans, np.int64).reshape(-1, 4).T

        def counted(there: Bool[np.ndarray, "words"]) -> list[np.ndarray]:
            """How many of these words are of each group, pair by pair."""
            return [np.bincount(pair[there & (group == n)], minlength=len(subject)) for n in range(len(GROUPS))]

        counts = dict(zip(GROUPS, counted(np.ones(len(pair), bool)), strict=True))
        for kind in VARIANTS:
            before = np.concatenate(([0], np.cumsum(kept[kind])))
            stays = before[past] - before[first] == past - first
            counts |= {f"{name} kept, {kind}": n for name, n in zip(GROUPS, counted(stays), strict=True)}
        return {FROM: [known.source] * len(subject), **counts}

    def conclude(self, table: pa.Table) -> Conclusion:
        totals = {group: column(table, group).astype(float) for group in GROUPS}
        summary: dict[str, Estimate] = {}
        for kind in VARIANTS:
            with np.errstate(invalid="ignore", divide="ignore"):  # a translation without such words says nothing
                shares = {group: column(table, f"{group} kept, {kind}") / totals[group] for group in GROUPS}
            summary |= {f"{group} kept, {kind}": mean(values, (0, 1)) for group, values in shares.items()}
            summary[f"kept, function − content, {kind}"] = mean(shares[FUNCTION] - shares[CONTENT], (-1, 1))
        counted = ", ".join(f"{int(totals[group].sum()):,} {group}" for group in GROUPS)
        notes = [f"The translations have {counted}. Function words are from {words(table, FROM)[0]}."]
        return Conclusion(
            _answer(summary, [group for group in (FUNCTION, CONTENT) if totals[group].any()]), summary, notes
        )

    @classmethod
    def charts(cls, table: pa.Table, summary: Mapping[str, Estimate]) -> Mapping[str, Chart]:
        rows = [
            {"weights": kind, "words": group, **row}
            for kind in VARIANTS
            for group in GROUPS
            for row in interval(group, summary[f"{group} kept, {kind}"])
        ]
        if not rows:
            return {}
        chart = bars_in_groups(
            rows,
            ("weights", "words"),
            "share of words kept (0–1)",
            "Shares of the words of the model's translations that stay the likeliest under other weights at their "
            "step, with 95 % intervals.",
        )
        return {"words kept by weights": chart}


def _answer(summary: Mapping[str, Estimate], there: Sequence[str]) -> str:
    """Of the groups that the translations have."""
    if not there:
        return "The translations have no words, so nothing can be said about them."
    shares = " and ".join(f"of {summary[f'{group} kept, {UNIFORM}']} of the {group}" for group in there)
    return f"With uniform weights at their step, a share {shares} stay as they are."


def kept_tokens(
    subject: TranslationSubject, prefixes: Sequences, kinds: Sequence[str], seed: int, watch: Watch
) -> dict[str, Bool[np.ndarray, "tokens"]]:
    """Whether each token is still the likeliest when the weights of its step alone are of a kind, in the order of the
    prefixes; the states before it are the model's own."""
    model = subject.model
    changes = {kind: Changed(kind, model.source_sites).steps_of(subject, seed) for kind in kinds}
    found = {kind: np.zeros(len(prefixes.ids), bool) for kind in kinds}
    done = 0
    for places in by_length(prefixes.lengths):
        pairs = subject.pairs(places, prefixes)
        sources, inputs = pairs.sources, shifted(pairs.targets)
        own = subject.with_weights(None)(sources.texts)
        steps = {kind: change(sources.texts) for kind, change in changes.items()}
        memory = model.encode(sources.ids, sources.mask, own)
        state = model.begin(memory)
        chosen = {kind: torch.zeros_like(pairs.targets) for kind in kinds}
        for number in range(pairs.targets.shape[1]):
            at = (memory, state, inputs[:, number], number)
            for kind in kinds:
                chosen[kind][:, number] = likeliest(model.project(model.step(*at, steps[kind])[0]))
            state = model.step(*at, own)[1]
        into, real = _places_in(prefixes, places)
        for kind in kinds:
            found[kind][into] = (chosen[kind] == pairs.targets).cpu().numpy()[real]
        done += len(places)
        watch(done, len(subject))
    return found


def _places_in(
    prefixes: Sequences, places: Int[np.ndarray, "batch"]
) -> tuple[Int[np.ndarray, "tokens"], Bool[np.ndarray, "batch steps"]]:
    """Where the tokens of a batch are among all of them, and which steps of the batch are tokens."""
    steps = np.arange(int(prefixes.lengths[places].max()))
    real = steps < prefixes.lengths[places][:, None]
    return (prefixes.offsets[:-1][places][:, None] + steps)[real], real
