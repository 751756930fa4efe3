"""Hugging Face datasets, by name or from a local folder (extra `hf`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.corpora.columns import Columns
from attentest.corpora.corpus import Corpus
from attentest.corpora.frames import load_frames
from attentest.errors import InputError


def load(
    dataset: str, columns: Columns, *, subset: str | None = None, positive: str | None = None, name: str | None = None
) -> Corpus:
    """`dataset` is its name on the hub, a folder in its layout, or a folder made by `save_to_disk`."""
    if not dataset:
        raise InputError("hf: needs the name of a dataset or its folder, as in hf:imdb.")
    loaded = _load_dataset(dataset, subset)
    if isinstance(loaded, Mapping) and not loaded:
        raise InputError(f"The dataset '{dataset}' has no splits.")
    return load_frames(loaded, columns, name=name or Path(dataset).name, called=dataset, positive=positive)


def _load_dataset(name: str, subset: str | None) -> Any:
    try:
        import datasets
    except ImportError as error:
        raise InputError("Hugging Face datasets are not installed: pip install 'attentest[hf]'.") from error
    datasets.disable_progress_bars()
    try:
        if (Path(name) / "dataset_dict.json").exists() or (Path(name) / "state.json").exists():
            return datasets.load_from_disk(name)
        return datasets.load_dataset(name, subset)
    except Exception as error:  # the hub, the network and the builders each raise their own kinds
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"The dataset '{name}' could not be loaded: {reason}") from error
