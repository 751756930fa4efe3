"""What a run says of texts: heat maps of its test split and of texts of your own, and probabilities of classes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Int

from attentest.display.heatmaps import Heatmap, Heatmaps
from attentest.errors import InputError
from attentest.models.pretrained.precision import AUTO
from attentest.text.batches import Batch, batch_of_sequences
from attentest.text.items import Items, merged, merged_marks
from attentest.text.pieces import PieceTokenizer
from attentest.text.sentences import sentences_of
from attentest.text.windows import mean_weights, stretches, whole_of
from attentest.training.predict import device_of, predict_batches, shares
from attentest.training.run import Run, word_heat
from attentest.training.tables import items_of

_AT_ONCE = 64  # texts of your own in a batch


def heatmaps(run: Run, n: int = 5, *, ids: Sequence[str] | None = None, wrong: bool = False, seed: int = 0) -> Heatmaps:
    """Attention on texts of the test split: those with these ids, or a random sample (of the wrong ones)."""
    predictions = run.predictions
    chosen = _choose(predictions, n, ids, wrong, seed)
    if run.view is not None or run.dtype != AUTO:
        return _seen_otherwise(run, predictions.take(chosen).to_pylist())
    attention = run.attention.take(chosen).to_pylist()
    tokens = map(items_of, attention)
    return Heatmaps(
        [
            Heatmap(
                id=row["id"],
                text=row["text"],
                spans=items.word_spans,
                weights=word_heat(weights),
                classes=run.classes,
                probabilities=row["probability"],
                label=row["label"],
                rationale=weights.get("rationale") and merged_marks(weights["rationale"], items.words),
                second=row.get("second"),
                shown=_shown(run, _how_read(run, row["text"], row.get("second"), len(items.tokens))),
                unknown=merged_marks([token not in run.vocabulary for token in items.tokens], items.words),
                in_second=items.words_in_second,
            )
            for row, weights, items in zip(predictions.take(chosen).to_pylist(), attention, tokens, strict=True)
        ]
    )


def _seen_otherwise(run: Run, rows: Sequence[Mapping[str, Any]]) -> Heatmaps:
    """Test texts by other weights than those that the run's table has."""
    second = [row["second"] for row in rows] if run.kind == "pair" else None
    found = attend(run, [row["text"] for row in rows], second)
    return Heatmaps([replace(one, id=row["id"], label=row["label"]) for one, row in zip(found, rows, strict=True)])


def attend(
    run: Run, texts: Sequence[str] | str, second: Sequence[str] | str | None = None, *, windows: bool = False
) -> Heatmaps:
    """Predictions and attention for your own texts; a model of pairs also needs the `second` text of each.

    A text that is read in windows has one map, of the means over them; with `windows` those of each window follow.
    """
    if run.has_given_weights:
        raise InputError("This model uses fixed weights for its own corpus, so it cannot read other texts.")
    if run.view is not None and run.view.special:  # heat maps show words, and special tokens are in none
        run = run.seen(replace(run.view, special=False))
    texts, others = _readable(texts), None if second is None else _readable(second)
    if not texts:
        raise InputError("No text was given.")
    if (run.kind == "pair") != (others is not None) or (others is not None and len(others) != len(texts)):
        raise InputError(
            f"This model reads {'pairs: give a second text for each' if run.kind == 'pair' else 'single texts'}; "
            f"{len(texts)} texts and {len(others or [])} second texts were given."
        )
    seconds: Sequence[str | None] = [None] * len(texts) if others is None else others
    read = [read_text(run, *pair) for pair in zip(texts, seconds, strict=True)]
    batches = (one.batch for windows_of in read for one in windows_of)
    found = predict_batches(run.model, batches, device_of(run.model))
    heat = found.weights
    if found.sentence_weights is not None:
        numbers = [one.batch.sentences[0].numpy() for (one,) in read if one.batch.sentences is not None]
        heat = [shares(*three) for three in zip(heat, numbers, found.sentence_weights, strict=True)]
    maps: list[Heatmap] = []
    at = 0
    for n, own in enumerate(read):
        here = slice(at, at + len(own))
        at += len(own)
        maps += _maps(run, str(n + 1), (texts[n], seconds[n]), own, found.probabilities[here], heat[here], windows)
    return Heatmaps(maps)


@dataclass(frozen=True)
class Stretch:
    """What a model reads at a time: a text or a pair, or a window of it."""

    items: Items
    batch: Batch
    bounds: Int[np.ndarray, "parts 2"] | None = None  # of word pieces


def _maps(
    run: Run,
    name: str,
    texts: tuple[str, str | None],
    read: Sequence[Stretch],
    probabilities: np.ndarray,
    heat: Sequence[np.ndarray],
    windows: bool,
) -> Iterator[Heatmap]:
    """Of a text, and of each of its windows if they are asked for."""
    if len(read) == 1:
        yield _map(run, name, texts, read[0].items, probabilities[0], heat[0], _how_read(run, *texts, len(heat[0])))
        return
    assert isinstance(run.tokenizer, PieceTokenizer)
    bounds = np.array([one.bounds for one in read])
    items = run.tokenizer.stretch(*texts, whole_of(bounds))
    said = f"mean of {len(read)} windows"
    yield _map(run, name, texts, items, probabilities.mean(0), mean_weights(bounds, heat), said)
    for n, one in enumerate(read if windows else (), 1):
        said = f"window {n} of {len(read)}"
        yield _map(run, f"{name}#{n}", texts, one.items, probabilities[n - 1], heat[n - 1], said)


def _map(
    run: Run,
    name: str,
    texts: tuple[str, str | None],
    items: Items,
    probabilities: np.ndarray,
    heat: np.ndarray,
    read: str,
) -> Heatmap:
    return Heatmap(
        name,
        texts[0],
        items.word_spans,
        merged(heat, items.words).tolist(),
        run.classes,
        probabilities.tolist(),
        second=texts[1],
        shown=_shown(run, read),
        unknown=merged_marks((run.vocabulary.ids(items.tokens) == run.vocabulary.unknown).tolist(), items.words),
        in_second=items.words_in_second,
    )


def probabilities(run: Run, texts: Sequence[str]) -> np.ndarray:
    """Of the classes, for single texts of your own, many at once; one without a token counts as an unknown word."""
    if run.kind == "pair" or run.has_given_weights:
        raise InputError(
            "This model reads pairs, or has fixed weights for its own texts only; it cannot read these texts."
        )
    read = _readable(texts)
    ids: list[np.ndarray] = []  # of each text or window
    number: list[int] = []  # of the text
    for n, text in enumerate(read):
        own = run.vocabulary.ids(run.tokenizer.tokens(text))
        own = own if len(own) else np.array([run.vocabulary.unknown], own.dtype)
        ids += [own[begin:end] for ((begin, end),) in _bounds(run, [len(own)])]
        number += [n] * (len(ids) - len(number))
    order = np.argsort([len(found) for found in ids], kind="stable")

    def batch(chosen: np.ndarray) -> Batch:
        inside = [np.resize(sentences_of(read[number[i]], run.tokenizer), len(ids[i])) for i in chosen
                  if run.is_hierarchical]  # fmt: skip
        return batch_of_sequences([ids[i] for i in chosen], sentences=inside or None)

    batches = (batch(order[start : start + _AT_ONCE]) for start in range(0, len(order), _AT_ONCE))
    result = np.zeros((len(read), len(run.classes)), np.float32)
    if len(ids):
        found = predict_batches(run.model, batches, device_of(run.model)).probabilities
        of = np.array(number)[order]
        np.add.at(result, of, found / np.bincount(of)[of, None].astype(np.float32))
    return result


def _bounds(run: Run, lengths: Sequence[int]) -> Int[np.ndarray, "windows parts 2"]:
    """What is read at a time of a text, or of a pair that is read as one, with so many tokens."""
    settings = run.text_settings
    return stretches(np.array(lengths)[:, None], run.max_tokens, settings.long, settings.stride)[1]


def read_text(run: Run, text: str, second: str | None) -> list[Stretch]:
    """A text or a pair as the model reads it: at once, or in windows."""
    texts = [text] if second is None else [text, second]
    counts = [len(run.tokenizer.tokens(one)) for one in texts]
    for one, number in zip(texts, counts, strict=True):
        if not number:
            raise InputError(f"There is no token in the text {one[:40]!r}.")
    if isinstance(run.tokenizer, PieceTokenizer):
        every = ((run.tokenizer.stretch(text, second, bounds), bounds) for bounds in _bounds(run, counts))
        return [Stretch(items, _in_pieces(run, items, second is not None), bounds) for items, bounds in every]
    items = run.tokenizer.items(text, second, run.max_tokens)
    ids = run.vocabulary.ids(items.tokens)
    numbers = [sentences_of(text, run.tokenizer)[: len(ids)]] if run.is_hierarchical else None
    others = None if second is None else [run.vocabulary.ids(run.tokenizer.tokens(second)[: run.max_tokens])]
    return [Stretch(items, batch_of_sequences([ids], others, numbers))]


def _in_pieces(run: Run, items: Items, pair: bool) -> Batch:
    return batch_of_sequences([run.vocabulary.ids(items.tokens)], sentences=[items.texts] if pair else None)


def _shown(run: Run, read: str = "") -> str:
    """What heat maps of this run show of each token; `read` tells how the text was read, where not as usual."""
    usual = "word weight × sentence weight" if run.is_hierarchical else "weight"
    parts = [usual] if run.view is None else ["weight", *run.view.shown]
    return ", ".join([*parts, *([read] if read else [])])


def _how_read(run: Run, text: str, second: str | None, tokens: int) -> str:
    """What to tell of a text of which so many tokens have a weight, where it has more or was read in windows."""
    attended = [text, second] if second is not None and run.tokenizer.in_pieces else [text]
    counts = [len(run.tokenizer.tokens(one)) for one in attended if one is not None]
    windows = len(_bounds(run, counts)) if run.tokenizer.in_pieces else 1
    if windows > 1:
        return f"mean of {windows} windows"
    return f"{tokens:,} of {sum(counts):,} tokens read" if sum(counts) > tokens else ""


def _readable(texts: Sequence[str] | str) -> list[str]:
    """A command line can bring bytes that are no characters."""
    return [text.encode("utf-8", "replace").decode() for text in ([texts] if isinstance(texts, str) else texts)]


def _choose(predictions: pa.Table, n: int, ids: Sequence[str] | None, wrong: bool, seed: int) -> list[int]:
    if ids:
        place = {id: i for i, id in enumerate(predictions["id"].to_pylist())}
        unknown = [id for id in ids if id not in place]
        if unknown:
            raise InputError(f"No test text has the id '{unknown[0]}'.")
        return [place[id] for id in ids]
    if n < 1:
        raise InputError(f"n is {n}; it must be at least 1.")
    if seed < 0:
        raise InputError(f"seed is {seed}; it must be at least 0.")
    rows = np.arange(predictions.num_rows)
    if wrong:
        rows = rows[(predictions["label"].to_numpy(False) != predictions["predicted"].to_numpy(False))]
        if not len(rows):
            raise InputError("The model is right on every test text, so there is no wrong one to show.")
    return [int(i) for i in np.random.default_rng(seed).permutation(rows)[:n]]
