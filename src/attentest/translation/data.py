"""A corpus of translations as a model reads it, and batches of pairs of about the same length on both sides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.progress import Listener
from attentest.text.sequences import Sequences
from attentest.translation.settings import TranslationText
from attentest.translation.tokens import END, UNKNOWN, Tokens, learn_tokens

SENTENCES_AT_ONCE = 64  # of a search


@dataclass(frozen=True)
class Sources:
    """Sentences side by side; `mask` is true on real tokens, which come first. `texts` are their numbers."""

    ids: Int[Tensor, "batch tokens"]
    mask: Bool[Tensor, "batch tokens"]
    texts: Int[np.ndarray, "batch"]

    def to(self, device: torch.device | str) -> Sources:
        return Sources(self.ids.to(device), self.mask.to(device), self.texts)


@dataclass(frozen=True)
class Pairs:
    sources: Sources
    targets: Int[Tensor, "batch steps"]  # with the end, filled up with padding

    def to(self, device: torch.device | str) -> Pairs:
        return Pairs(self.sources.to(device), self.targets.to(device))


@dataclass(frozen=True)
class ParallelData:
    """Pair i is row `rows[i]` of the corpus."""

    corpus: Corpus
    source_tokens: Tokens
    target_tokens: Tokens
    source: Sequences
    target: Sequences  # each with the end
    rows: Int[np.ndarray, "pairs"]
    notes: tuple[str, ...] = ()

    def of_split(self, name: str) -> Int[np.ndarray, "chosen"]:
        return np.flatnonzero(self.corpus.split[self.rows] == name)

    def texts(self, column: str, places: Int[np.ndarray, "chosen"]) -> list[str]:
        found: list[str] = self.corpus.table[column].take(self.rows[places]).to_pylist()
        return found


def read_corpus(corpus: Corpus, settings: TranslationText, listener: Listener | None = None) -> ParallelData:
    """Both sides in numbers, by tokens that are learned from the training pairs."""
    listener = listener or Listener()
    train = corpus.split == "train"
    if not train.any():
        raise InputError(f"{corpus.name} has no training rows, so no model can be trained on it.")
    found, lists = [], []
    for number, column in enumerate(("text", "second")):
        texts: list[str] = corpus.table[column].to_pylist()
        tokens = learn_tokens([text for text, known in zip(texts, train, strict=True) if known], settings)
        found.append(tokens)
        lists.append([np.array(tokens.ids(text) or [UNKNOWN], np.int32) for text in texts])
        listener.progress("tokenise", number + 1, 2)
    lengths = np.array([[len(ids) for ids in side] for side in lists]).max(0)
    long = lengths > settings.max_tokens
    kept = np.flatnonzero(~(long & train))
    if not train[kept].any():
        raise InputError(f"Every training pair has more than {settings.max_tokens} tokens; set `max_tokens` higher.")
    source = flat([lists[0][row][: settings.max_tokens] for row in kept])
    target = flat([np.append(lists[1][row][: settings.max_tokens], np.int32(END)) for row in kept])
    data = ParallelData(corpus, found[0], found[1], source, target, kept)
    notes = [*_about_long(int((long & train).sum()), int((long & ~train).sum()), settings.max_tokens), *_describe(data)]
    return replace(data, notes=tuple(notes))


def _about_long(dropped: int, cut: int, most: int) -> Iterator[str]:
    if dropped:
        yield f"Dropped {dropped:,} training pairs with more than {most} tokens on a side (`max_tokens`)."
    if cut:
        yield f"Cut {cut:,} dev and test pairs to {most} tokens on a side; references stay whole."


def _describe(data: ParallelData) -> Iterator[str]:
    test = data.of_split("test")
    unknown = [
        float(np.mean(np.concatenate([side[place] for place in test]) == UNKNOWN)) if len(test) else 0.0
        for side in (data.source, data.target)
    ]
    yield (
        f"{len(data.rows):,} pairs of {data.source.lengths.mean():.0f} and {data.target.lengths.mean() - 1:.0f} tokens "
        f"on average, vocabularies {len(data.source_tokens):,} and {len(data.target_tokens):,}, "
        f"{100 * unknown[0]:.1f} % and {100 * unknown[1]:.1f} % of test tokens unknown."
    )


def flat(sequences: Sequence[np.ndarray]) -> Sequences:
    offsets = np.concatenate(([0], np.cumsum([len(one) for one in sequences])))
    return Sequences(np.concatenate(sequences), offsets)


def make_sources(sequences: Sequences, places: Int[np.ndarray, "batch"], texts: Int[np.ndarray, "all"]) -> Sources:
    ids, mask = sequences.padded(places)
    return Sources(torch.from_numpy(ids.astype(np.int64)), torch.from_numpy(mask), texts[places])


def make_pairs(data: ParallelData, places: Int[np.ndarray, "batch"]) -> Pairs:
    targets = torch.from_numpy(data.target.padded(places)[0].astype(np.int64))
    return Pairs(make_sources(data.source, places, data.rows), targets)


def training_order(
    source: Int[np.ndarray, "pairs"],
    target: Int[np.ndarray, "pairs"],
    batch_tokens: int,
    generator: np.random.Generator,
) -> list[Int[np.ndarray, "batch"]]:
    """Places in batches of at most `batch_tokens` on the longer side, padding counted: sorted by target length with
    ±10 % of noise and within that by source length, batches shuffled."""
    noisy = np.rint(target * generator.uniform(0.9, 1.1, len(target)))
    order = np.lexsort((source * generator.uniform(0.9, 1.1, len(source)), noisy))
    batches = list(cut_by_tokens(np.maximum(source, target)[order], batch_tokens))
    cut = np.split(order, batches)
    return [cut[i] for i in generator.permutation(len(cut))]


def cut_by_tokens(lengths: Int[np.ndarray, "pairs"], most: int) -> Iterator[int]:
    """Where a new batch begins, so that each has at most `most` tokens, or a single pair."""
    begun = longest = 0
    for place, length in enumerate(lengths.tolist()):
        longest = max(longest, length)
        if place > begun and (place - begun + 1) * longest > most:
            yield place
            begun, longest = place, length


def training_batches(
    data: ParallelData, places: Int[np.ndarray, "pairs"], batch_tokens: int, generator: np.random.Generator
) -> Iterator[Pairs]:
    lengths = data.source.lengths[places], data.target.lengths[places]
    for chosen in training_order(*lengths, batch_tokens, generator):
        yield make_pairs(data, places[chosen])


def by_length(lengths: Int[np.ndarray, "texts"], size: int = SENTENCES_AT_ONCE) -> list[Int[np.ndarray, "batch"]]:
    """Places in batches of about the same length, shortest first."""
    order = np.argsort(lengths, kind="stable")
    return [order[start : start + size] for start in range(0, len(order), size)]
