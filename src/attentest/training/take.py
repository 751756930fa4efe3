"""A model that was trained elsewhere, made a run without training: what it says about the test split."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.files import write_json
from attentest.memory import out_of_memory
from attentest.models.pretrained.precision import AUTO
from attentest.models.settings import ModelSettings
from attentest.progress import Listener
from attentest.text.batches import TOKENS_AT_ONCE
from attentest.text.settings import TextSettings
from attentest.training.claim import clear_for, exclusive
from attentest.training.encoder import with_its_head
from attentest.training.fine_tuning import check_fine_tuning
from attentest.training.fit import Progress
from attentest.training.identity import Others, identity_of, made_with
from attentest.training.predict import Predictions, predict
from attentest.training.record import RUN
from attentest.training.results import write_results
from attentest.training.run import Run, choose_device
from attentest.training.settings import Settings, TrainingSettings


def take_pretrained(
    corpus: Corpus,
    source: str | Path,
    out: str | Path,
    *,
    labels: Mapping[str, str] | None = None,
    text: TextSettings | None = None,
    device: str = "auto",
    dtype: str = AUTO,
    memory: int | None = None,
    listener: Listener | None = None,
) -> Run:
    """A run of a Hugging Face classifier (a folder or a hub name) as it is, with its predictions and attention.

    `labels` says which class each of its labels is, where their names differ, `text` what happens to long texts; its
    weights are put into `dtype` [float32], and `memory` bounds the bytes of the texts that are read at a time.
    """
    listener = listener or Listener()
    settings = Settings(text or TextSettings(), ModelSettings(pretrained=str(source)), TrainingSettings())
    check_fine_tuning(settings)
    identity = identity_of(corpus, settings, Others())
    encoder = with_its_head(settings.model, corpus.classes, labels, dtype)
    data = encoder.read(corpus, settings.text, partial(listener.progress, "tokenise"))
    test = data.of_split("test")
    if not len(test):
        raise InputError(f"{corpus.name} has no usable rows in its test split.")
    where = choose_device(device)
    longest = int(data.sequences.lengths[test].max())
    costs = encoder.model.costs(longest)
    at_once = TOKENS_AT_ONCE if memory is None else min(TOKENS_AT_ONCE, memory // costs.token)
    read = partial(predict, encoder.model.to(where), data, test, where)
    found = _halved(lambda tokens: read(max_padded=tokens), at_once, longest + costs.added)
    path = Path(out)
    with exclusive(path):
        clear_for(path, identity, overwrite=False, write=True)
        coarse = [f"The model computes in {dtype}."] if dtype not in (AUTO, "float32") else []
        notes = [*encoder.notes, *coarse, *data.notes]
        write_json(path / RUN, identity | made_with(corpus, where, notes))
        encoder.write(path)
        write_results(path, encoder.model, data, found, Progress())
    return Run(path)


def _halved(read: Callable[[int], Predictions], at_once: int, fewest: int) -> Predictions:
    """What is read so many tokens at a time, or where memory does not suffice, half as many, down to one text."""
    while True:
        try:
            return read(at_once)
        except (RuntimeError, MemoryError) as error:
            if not out_of_memory(error) or at_once <= fewest:
                raise
        at_once = max(fewest, at_once // 2)
