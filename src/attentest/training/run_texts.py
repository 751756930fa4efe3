"""What a run says of texts: heat maps of its test split and of texts of your own, and probabilities of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from attentest.display.heatmaps import Heatmap, Heatmaps
from attentest.errors import InputError
from attentest.models.pretrained.precision import AUTO
from attentest.text.batches import Batch, batch_of_sequences
from attentest.text.items import Items, merged, merged_marks
from attentest.text.sentences import sentences_of
from attentest.training.predict import predict_batches, shares
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
                shown=_shown(run),
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


def attend(run: Run, texts: Sequence[str] | str, second: Sequence[str] | str | None = None) -> Heatmaps:
    """Predictions and attention for your own texts; a model of pairs also needs the `second` text of each."""
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
    read = [_read(run, *pair) for pair in zip(texts, seconds, strict=True)]
    found = predict_batches(run.model, (batch for _, batch in read), next(run.model.parameters()).device)
    heat = found.weights
    if found.sentence_weights is not None:
        numbers = [batch.sentences[0].numpy() for _, batch in read if batch.sentences is not None]
        heat = [shares(*three) for three in zip(heat, numbers, found.sentence_weights, strict=True)]
    return Heatmaps(
        [
            Heatmap(
                str(n + 1),
                text,
                items.word_spans,
                merged(heat[n], items.words).tolist(),
                run.classes,
                found.probabilities[n].tolist(),
                second=seconds[n],
                shown=_shown(run),
                unknown=merged_marks((batch.ids[0] == run.vocabulary.unknown).tolist(), items.words),
                in_second=items.words_in_second,
            )
            for n, (text, (items, batch)) in enumerate(zip(texts, read, strict=True))
        ]
    )


def probabilities(run: Run, texts: Sequence[str]) -> np.ndarray:
    """Of the classes, for single texts of your own, many at once; one without a token counts as an unknown word."""
    if run.kind == "pair" or run.has_given_weights:
        raise InputError(
            "This model reads pairs, or has fixed weights for its own texts only; it cannot read these texts."
        )
    read = _readable(texts)
    ids = [_ids(run, text) for text in read]
    ids = [found if len(found) else np.array([run.vocabulary.unknown], found.dtype) for found in ids]
    order = np.argsort([len(found) for found in ids], kind="stable")

    def batch(chosen: np.ndarray) -> Batch:
        inside = [np.resize(sentences_of(read[i], run.tokenizer), len(ids[i])) for i in chosen if run.is_hierarchical]
        return batch_of_sequences([ids[i] for i in chosen], sentences=inside or None)

    batches = (batch(order[start : start + _AT_ONCE]) for start in range(0, len(order), _AT_ONCE))
    result = np.empty((len(ids), len(run.classes)), np.float32)
    if len(ids):
        result[order] = predict_batches(run.model, batches, next(run.model.parameters()).device).probabilities
    return result


def _read(run: Run, text: str, second: str | None) -> tuple[Items, Batch]:
    """A text or a pair as the model reads it."""
    items = run.tokenizer.items(text, second, run.max_tokens)
    ids = run.vocabulary.ids(items.tokens)
    _expect_tokens(text, ids[items.texts == 0])
    if second is None:
        numbers = [sentences_of(text, run.tokenizer)[: len(ids)]] if run.is_hierarchical else None
        return items, batch_of_sequences([ids], sentences=numbers)
    other = ids[items.texts == 1] if run.tokenizer.in_pieces else _ids(run, second)
    _expect_tokens(second, other)
    if run.tokenizer.in_pieces:
        return items, batch_of_sequences([ids], sentences=[items.texts])
    return items, batch_of_sequences([ids], [other])


def _expect_tokens(text: str, ids: np.ndarray) -> None:
    if not len(ids):
        raise InputError(f"There is no token in the text {text[:40]!r}.")


def _ids(run: Run, text: str) -> np.ndarray:
    return run.vocabulary.ids(run.tokenizer.tokens(text)[: run.max_tokens])


def _shown(run: Run) -> str:
    """What heat maps of this run show of each token."""
    if run.view is not None:
        return ", ".join(["weight", *run.view.shown])
    return "word weight × sentence weight" if run.is_hierarchical else "weight"


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
