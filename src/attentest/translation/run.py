"""A trained translation model in its folder, and what can be asked of it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float

from attentest.columns import expect_columns, is_text
from attentest.display.show import show
from attentest.display.tables import html_table, text_table
from attentest.errors import InputError, brief
from attentest.files import is_folder, read_foreign_table
from attentest.progress import Listener
from attentest.training.folder import AUDITED
from attentest.training.run import choose_device
from attentest.training.tensors import read_tensors
from attentest.translation.data import by_length, flat, make_sources
from attentest.translation.fit import fixed_weights
from attentest.translation.folder import MODEL, RESULT, RUN, SOURCE, TARGET, TRANSLATIONS, read_result, read_run
from attentest.translation.given import as_given
from attentest.translation.interventions import GIVEN, Given, Intervention, Steps, chosen_sites, one_after_other
from attentest.translation.model import Translator, make_translator
from attentest.translation.search import Hypothesis, StepsOf, beam_search, forced_decoding, greedy
from attentest.translation.settings import OtherWeights, Search
from attentest.translation.tokens import END, Tokens, nothing_known, read_tokens

if TYPE_CHECKING:
    from rich.console import RenderableType

    from attentest.display.heatmaps import Grids
    from attentest.translation.compare import Compared


_HEADER = ("source", "translation")
_MOST_LOGITS = 20_000_000  # 80 MB, and a few times that in use


@dataclass(frozen=True)
class Translation:
    """Of one sentence. `weights` are those of each site, heads × queries × keys: queries of decoder sites are the
    target's tokens, each at the step that gives it, and the keys of `cross` and `across` the source's."""

    source: str
    text: str
    score: float  # sum of the log-probabilities of its tokens
    source_tokens: tuple[str, ...]
    target_tokens: tuple[str, ...]  # with the end, if it was reached
    token_scores: tuple[float, ...] = ()  # log-probabilities, one for each token
    weights: dict[str, Float[np.ndarray, "heads queries keys"]] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "translation": self.text,
            "score": self.score,
            "source_tokens": list(self.source_tokens),
            "target_tokens": list(self.target_tokens),
            "token_scores": list(self.token_scores),
            "weights": {site: values.tolist() for site, values in self.weights.items()},
        }

    def map(self, site: str | None = None, head: int | None = None) -> Grids:
        """Its weights on the source: of a site [the last] the mean of the heads, or one head."""
        from attentest.translation.pictures import maps_of

        return maps_of([self], site, head, ids=[""])

    def show(self, site: str | None = None, head: int | None = None) -> None:
        """The map, or the translation alone if it has no weights: in a notebook displayed, elsewhere printed."""
        show(self.map(site, head) if self.weights or site is not None or head is not None else self)

    def __rich__(self) -> RenderableType:
        return self.map().__rich__() if self.weights else text_table(_HEADER, [(self.source, self.text)])

    def _repr_html_(self) -> str:
        return self.map()._repr_html_() if self.weights else html_table(_HEADER, [(self.source, self.text)])


class TranslationRun:
    """Opened from its folder; files are read when they are asked for."""

    def __init__(self, path: str | Path, keep: Any = None) -> None:
        if not isinstance(path, str | os.PathLike):
            raise InputError(f"A run is opened from its folder; {type(path).__name__} is none.")
        self.path = Path(path)
        self.keep = keep  # a temporary folder lives as long as the run that lies in it
        if not is_folder(self.path):
            raise InputError(f"{self.path}: there is no such run folder.")
        if not (self.path / RUN).is_file() and (self.path / AUDITED / RUN).is_file():
            self.path = self.path / AUDITED  # the audited model, in the folder of its audit
        if not (self.path / RUN).is_file():
            raise InputError(f"{self.path} is not the folder of a translation run: it has no {RUN}.")
        self.record, self.settings = read_run(self.path)

    @property
    def finished(self) -> bool:
        return (self.path / RESULT).exists()

    @property
    def metrics(self) -> dict[str, float]:
        """BLEU and chrF of greedy translations of the test split; `bleu_words` is that of their words, as
        attentest cuts them."""
        return read_result(self.path).test

    @property
    def signatures(self) -> dict[str, str]:
        """How sacrebleu computed each of the metrics."""
        return read_result(self.path).signatures

    @property
    def notes(self) -> list[str]:
        return list(self.record.notes)

    @property
    def sites(self) -> tuple[str, ...]:
        return self.model.sites

    @cached_property
    def translations(self) -> pa.Table:
        """Of the test split: id, source, reference, translation."""
        table = read_foreign_table(self.path / TRANSLATIONS)
        expect_columns(
            table, dict.fromkeys(("id", "source", "reference", "translation"), is_text), self.path / TRANSLATIONS
        )
        return table

    @cached_property
    def source_tokens(self) -> Tokens:
        return read_tokens(self.path / SOURCE, self.record.text)

    @cached_property
    def target_tokens(self) -> Tokens:
        return read_tokens(self.path / TARGET, self.record.text)

    @cached_property
    def model(self) -> Translator:
        file = self.path / MODEL
        stored = read_tensors(file)
        sizes = len(self.source_tokens), len(self.target_tokens)
        try:
            with torch.device("meta"):  # sizes that somebody made up take no memory
                described = make_translator(self.record.model, *sizes).state_dict()
        except (InputError, RuntimeError, TypeError) as error:
            raise InputError(f"{self.path / RUN} is damaged: no model is made like this.") from error
        stored.expect_like(described)
        stored.expect_unchanged()
        model = make_translator(self.record.model, *sizes)
        model.load_state_dict(stored.tensors)
        return model.eval()

    def translate(
        self,
        texts: Sequence[str] | str,
        *,
        weights: str | None = None,
        site: Sequence[str] = (),
        head: int | None = None,
        seed: int = 0,
        given: Sequence[Given] = (),
        beam: int = 1,
        length_penalty: float = 1.0,
        sentences: int = 64,
        with_weights: bool = False,
        device: str = "auto",
        listener: Listener | None = None,
        numbers: Sequence[int] | None = None,
    ) -> list[Translation]:
        """Translate sentences, with other weights at every step if `weights` names a kind. Random weights hang on the
        `numbers` of the texts [0, 1, …]; texts of the test split have their rows' there."""
        search = Search(beam, length_penalty, sentences)
        sources = self._sources(texts, listener or Listener())
        keys = _numbers(numbers, len(sources.ids))
        steps_of = self.steps_of(OtherWeights(weights, _sites(site), head, seed), self._given(given, keys))
        where = choose_device(device)
        model = self.model.to(where)
        ids = flat(sources.ids)
        found: dict[int, Translation] = {}
        # a beam keeps as many distributions as it has translations: no more at a time than memory takes
        at_once = min(search.sentences, max(1, _MOST_LOGITS // (search.beam * model.target.num_embeddings)))
        for places in by_length(ids.lengths, at_once):
            batch = make_sources(ids, places, keys).to(where)
            inputs = (model, batch.ids, batch.mask, batch.texts, steps_of)
            if search.beam == 1:
                best = greedy(*inputs)
            else:
                best = beam_search(*inputs, beam=search.beam, penalty=search.length_penalty)
            forced = self._forced(model, batch, best, steps_of) if with_weights else [{}] * len(best)
            for place, one, more in zip(places.tolist(), best, forced, strict=True):
                found[place] = self._translation(sources, place, one, more)
        return [found[place] for place in range(len(ids))]

    def force(
        self,
        texts: Sequence[str] | str,
        translations: Sequence[str] | str,
        *,
        weights: str | None = None,
        site: Sequence[str] = (),
        head: int | None = None,
        seed: int = 0,
        given: Sequence[Given] = (),
        sentences: int = 64,
        device: str = "auto",
        listener: Listener | None = None,
    ) -> list[Translation]:
        """Scores and weights of given translations, each token under the right ones before it (a forced prefix)."""
        at_once = Search(sentences=sentences).sentences
        wanted = _listed(translations, "translation")
        sources = self._sources(texts, listener or Listener())
        if len(wanted) != len(sources.ids):
            raise InputError(
                f"There are {len(sources.ids):,} texts and {len(wanted):,} translations; give one for each."
            )
        most = self.record.text.max_tokens
        targets = [Hypothesis(tuple(self.target_tokens.ids(text)[:most]), 0.0, True) for text in wanted]
        keys = _numbers(None, len(sources.ids))
        steps_of = self.steps_of(OtherWeights(weights, _sites(site), head, seed), self._given(given, keys))
        where = choose_device(device)
        model = self.model.to(where)
        ids = flat(sources.ids)
        found: dict[int, Translation] = {}
        for places in by_length(ids.lengths, at_once):
            batch = make_sources(ids, places, keys).to(where)
            some = [targets[place] for place in places]
            for place, one, more in zip(places.tolist(), some, self._forced(model, batch, some, steps_of), strict=True):
                scored = Hypothesis(one.tokens, sum(more["token_scores"]), True)
                found[place] = self._translation(sources, place, scored, more)
        return [found[place] for place in range(len(ids))]

    def attend(
        self,
        texts: Sequence[str] | str,
        *,
        site: str | None = None,
        head: int | None = None,
        weights: str | None = None,
        ids: Sequence[str] | None = None,
        **how: Any,
    ) -> Grids:
        """Maps of the weights with which sentences are translated: of a site [the last] the mean of the heads, or one
        head. `weights` names a kind in place of the model's own, at all sites; `how` is as for `translate`."""
        from attentest.translation.pictures import maps_of

        given = _listed(texts, "text")
        if ids is not None and len(ids) != len(given):
            raise InputError(f"There are {len(given):,} texts and {len(ids):,} ids; give one for each.")
        found = self.translate(given, weights=weights, with_weights=True, **how)
        return maps_of(found, site, head, ids=ids, about=f"{weights} weights" if weights else "")

    def heatmaps(self, n: int = 5, *, ids: Sequence[str] | None = None, choice: int = 0, **how: Any) -> Grids:
        """Such maps for sentences of the test split: those with these ids, or a random sample by the seed `choice`."""
        from attentest.translation.pictures import chosen_rows

        chosen = chosen_rows(self, n, [ids] if isinstance(ids, str) else ids, choice)
        rows = self.translations.take(chosen).to_pylist()
        return self.attend([row["source"] for row in rows], ids=[row["id"] for row in rows], numbers=chosen, **how)

    def compare(self, texts: Sequence[str] | str, **how: Any) -> list[Compared]:
        """Translations with the own, uniform, random, permuted and top-dropped weights; `how` is as for `translate`."""
        from attentest.translation.compare import compared

        return compared(self, texts, **how)

    def _given(self, given: Sequence[Given], numbers: np.ndarray) -> dict[int, Given]:
        """By the numbers of the texts."""
        texts = as_given(given)
        if texts and len(texts) != len(numbers):
            raise InputError(
                f"There are {len(numbers):,} texts and given weights of {len(texts):,}; give one for each."
            )
        for site in (site for weights in texts for site in weights):
            chosen_sites([site], self.sites)
        return dict(zip(numbers.tolist(), texts, strict=False))

    def steps_of(self, other: OtherWeights, given: Mapping[int, Given] | None = None) -> StepsOf:
        """What happens to the weights of a batch: fixed ones of the model first, then those in their place."""
        fixed = fixed_weights(self.record.model, self.model, self.record.training.seed)
        if other.weights is None:
            if given:
                raise InputError(f"`given` goes with `weights={GIVEN!r}`.")
            return fixed
        sites = chosen_sites(other.site, self.sites) if other.site else None
        most = max(self.model.heads[site] for site in sites or self.sites)
        if other.head is not None and other.head >= most:
            raise InputError(f"head is {other.head}; the sites have {most} heads, numbered from 0.")
        change = Intervention(other.weights, sites, other.head, other.seed, given or {})

        def both(texts: np.ndarray) -> Steps:
            return one_after_other(fixed(texts), change.steps(texts))

        return both

    def _sources(self, texts: Sequence[str] | str, listener: Listener) -> _Read:
        given = _listed(texts, "text")
        most = self.record.text.max_tokens
        ids = [np.array(self.source_tokens.ids(text), np.int32) for text in given]
        for number, (text, numbers) in enumerate(zip(given, ids, strict=True), 1):
            if not text.strip() or not len(numbers):
                raise InputError(f"Text {number} is empty; there is nothing to translate.")
            if nothing_known(self.source_tokens, numbers.tolist()):
                listener.warning(f"Text {number} has no token that the model knows; its translation is a guess.")
            if len(numbers) > most:
                listener.warning(f"Text {number} has {len(numbers):,} tokens and was cut to {most} (max_tokens).")
        return _Read(given, [numbers[:most] for numbers in ids])

    def _forced(
        self, model: Translator, batch: Any, found: Sequence[Hypothesis], steps_of: StepsOf
    ) -> list[dict[str, Any]]:
        rows = [torch.tensor([*one.tokens, *([END] if one.ended else [])], dtype=torch.long) for one in found]
        targets = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(batch.ids.device)
        forced = forced_decoding(model, batch.ids, batch.mask, targets, batch.texts, steps_of)
        keys = batch.mask.sum(1).tolist()
        return [
            {
                "token_scores": tuple(forced.scores[row, : len(rows[row])].tolist()),
                "weights": {
                    site: _own(site, values[row], len(rows[row]), keys[row]) for site, values in forced.weights.items()
                },
            }
            for row in range(len(rows))
        ]

    def _translation(self, sources: _Read, place: int, one: Hypothesis, more: dict[str, Any]) -> Translation:
        tokens = (*one.tokens, *([END] if one.ended else []))
        return Translation(
            sources.texts[place],
            self.target_tokens.text(one.tokens),
            one.score,
            tuple(self.source_tokens.names(sources.ids[place].tolist())),
            tuple(self.target_tokens.names(tokens)),
            **more,
        )

    def __repr__(self) -> str:
        scores = (
            ", ".join(f"{name} {value:.1f}" for name, value in self.metrics.items())
            if self.finished
            else "not finished"
        )
        return f"TranslationRun({str(self.path)!r}: {self.record.model.model} on {self.record.corpus.name}; {scores})"


@dataclass(frozen=True)
class _Read:
    texts: Sequence[str]
    ids: Sequence[np.ndarray]


def _own(site: str, weights: torch.Tensor, steps: int, keys: int) -> np.ndarray:
    """A text's part of a batch's weights."""
    kind = site.partition(".")[0]
    queries = keys if kind == "encoder" else steps
    found: np.ndarray = weights[:, :queries, : steps if kind == "decoder" else keys].cpu().numpy()
    return found


def _listed(texts: Sequence[str] | str, what: str) -> list[str]:
    try:
        given = [texts] if isinstance(texts, str) else list(texts)
    except TypeError:
        raise InputError(f"Expected a {what} or a list of them, not {brief(texts)}.") from None
    for number, text in enumerate(given, 1):
        if not isinstance(text, str):
            raise InputError(f"The {what} with the number {number} is {type(text).__name__}; expected text.")
    if not given:
        raise InputError(f"There is no {what}; give at least one.")
    return given


def _numbers(given: Sequence[int] | None, texts: int) -> np.ndarray:
    if given is None:
        return np.arange(texts)
    if len(given) != texts or not all(isinstance(number, int) and number >= 0 for number in given):
        raise InputError(f"numbers must be {texts:,} whole numbers of at least 0, one for each text.")
    return np.array(given)


def _sites(given: Sequence[str] | str) -> tuple[str, ...]:
    """One may be named without a list."""
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, list | tuple):
        raise InputError(f"site must be the name of a site or a list of them, not {brief(given)}.")
    return tuple(given)


def open_translation(path: str | Path) -> TranslationRun:
    """A translation run from its folder."""
    return TranslationRun(path)
