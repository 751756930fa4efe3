"""Hugging Face datasets, by name or from a local folder (extra `hf`)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from attentest.corpora.build import build_corpus
from attentest.corpora.columns import Columns, check_columns
from attentest.corpora.corpus import Corpus
from attentest.errors import InputError


def load(name: str, columns: Columns, *, subset: str | None = None, positive: str | None = None) -> Corpus:
    """`name` is a dataset's name on the hub, a folder in its layout, or a folder made by `save_to_disk`."""
    if not name:
        raise InputError("hf: needs the name of a dataset or its folder, as in hf:imdb.")
    splits = _as_splits(_load_dataset(name, subset), name)
    tables, classes = [], None
    for split, dataset in splits.items():
        check_columns(name, columns, dataset.column_names)
        classes = classes or getattr(dataset.features[columns["label"]], "names", None)
        table = dataset.with_format("arrow")[:]
        part = {ours: table[theirs] for ours, theirs in columns.items()}
        if classes:
            part["label"] = _without_unlabelled(part["label"])
        if len(splits) > 1:
            part["split"] = pa.chunked_array([pa.repeat(split, table.num_rows)])
            part.setdefault("id", pa.chunked_array([[f"{split}/{i}" for i in range(table.num_rows)]]))
        tables.append(pa.table(part))
    merged = pa.concat_tables(tables, promote_options="permissive")
    return build_corpus(
        Path(name).name,
        {column: merged[column] for column in merged.column_names},
        kind="pair" if "second" in columns else "single",
        classes=classes,
        positive=positive,
    )


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


def _as_splits(loaded: Any, name: str) -> Mapping[str, Any]:
    splits = loaded if isinstance(loaded, Mapping) else {"train": loaded}
    labelled = {split: dataset for split, dataset in splits.items() if split != "unsupervised"}
    if not labelled:
        raise InputError(f"The dataset '{name}' has no splits.")
    return labelled


def _without_unlabelled(labels: pa.ChunkedArray) -> pa.ChunkedArray:
    """Where labels have names, -1 says that a row has none: so are test sets hidden."""
    return pc.if_else(pc.equal(labels, -1), None, labels)
