"""Files of a run folder, written whole or not at all."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor

from attentest.corpora.parquet import read_parquet
from attentest.errors import InputError

# everything a run may leave in its folder
FILES = (
    "run.json",
    "vocabulary.json",
    "checkpoint.safetensors",
    "model.safetensors",
    "history.parquet",
    "metrics.parquet",
    "predictions.parquet",
    "attention.parquet",
    "result.json",
)


LOCK = ".training"


def holds_files(folder: Path) -> bool:
    """Whether there is anything but the drafts a killed process may have left."""
    return any(not _is_draft(file) and file.name != LOCK for file in folder.iterdir())


def is_folder(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:  # a name too long for a file, say
        return False


def hash_of(file: Path) -> str:
    """A hash of a file's content."""
    try:
        with file.open("rb") as handle:
            return hashlib.file_digest(handle, "sha256").hexdigest()[:16]
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}.") from error


def remove_run(folder: Path) -> None:
    """Remove a run's files, and nothing else that may lie beside them; what says it is finished goes first."""
    try:
        for name in reversed(FILES):
            (folder / name).unlink(missing_ok=True)
        for file in filter(_is_draft, list(folder.iterdir())):
            file.unlink(missing_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be overwritten: {error.strerror}.") from error


def _is_draft(file: Path) -> bool:
    return any(file.name.startswith(f".{name}.") for name in FILES)


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from error


def write_whole(path: Path, write: Callable[[Path], None]) -> None:
    """Write beside the file and move it into place: a kill leaves the old file or the new, never half of one."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        write(draft)
        with draft.open("rb") as handle:
            os.fsync(handle.fileno())
        draft.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}.") from error
    finally:
        draft.unlink(missing_ok=True)


def write_bytes(path: Path, content: bytes) -> None:
    def write(draft: Path) -> None:
        draft.write_bytes(content)

    write_whole(path, write)


def write_json(path: Path, content: Mapping[str, Any] | list[Any]) -> None:
    text = json.dumps(without_nan(content), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode())


def without_nan(content: Any) -> Any:
    """JSON has no NaN: what is not defined is null."""
    if isinstance(content, Mapping):
        return {key: without_nan(value) for key, value in content.items()}
    if isinstance(content, list | tuple):
        return [without_nan(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def read_json(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there; is {path.parent} the folder of a run?") from error
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is damaged or was not written by attentest ({error}).") from error


def write_table(path: Path, table: pa.Table) -> None:
    write_whole(path, lambda draft: pq.write_table(table, draft, compression="zstd"))


def read_table(path: Path) -> pa.Table:
    try:
        return read_parquet(path)
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there; the run is not finished.") from error
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{path} is damaged or not a Parquet file.") from error


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    ready = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    content = save(ready, metadata=dict(metadata or {}))
    write_bytes(path, content)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Tensors and metadata of a safetensors file; nothing is ever unpickled."""
    try:
        with safe_open(path, framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except FileNotFoundError as error:
        raise InputError(f"{path} is not there; the run is not finished.") from error
    except (OSError, SafetensorError) as error:
        raise InputError(f"{path} is truncated, damaged or not a safetensors file ({error}).") from error
