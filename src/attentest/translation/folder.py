"""The folder of a translation run: what lies in it, what its JSON files say, and whose it is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from attentest.errors import InputError
from attentest.files import checked, hash_of, is_file, read_as, read_json, remove, remove_drafts
from attentest.training.folder import AUDITED, DamagedRunError, holds_files
from attentest.translation.settings import GROUPS, TranslationModel, TranslationSettings, TranslationText
from attentest.translation.settings import TranslationTraining as Training
from attentest.version import __version__

FORMAT = 1
RUN, RESULT, CHECKPOINT, MODEL = "translation.json", "result.json", "checkpoint.safetensors", "model.safetensors"
SOURCE, TARGET, HISTORY, TRANSLATIONS = "source.json", "target.json", "history.parquet", "translations.parquet"
KEPT = (SOURCE, TARGET, MODEL, HISTORY, TRANSLATIONS)  # whose hashes are in result.json
FILES = (RUN, *KEPT, CHECKPOINT, RESULT)  # everything a run may leave in its folder


@dataclass(frozen=True)
class CorpusRecord:
    name: str
    fingerprint: str
    rows: dict[str, int]  # of each split


@dataclass(frozen=True)
class RunRecord:
    """What made a run."""

    format: int
    corpus: CorpusRecord
    text: TranslationText
    model: TranslationModel
    training: Training
    notes: list[str]
    versions: dict[str, str]

    @property
    def settings(self) -> TranslationSettings:
        return TranslationSettings(self.text, self.model, self.training)


@dataclass(frozen=True)
class ResultRecord:
    """What a finished run reached on the test split, and what computed it."""

    best_epoch: int
    test: dict[str, float]
    signatures: dict[str, str]
    files: dict[str, str]


def is_translation_run(folder: Path) -> bool:
    """Whether the folder is that of a translation run, or of the audit of one."""
    return is_file(folder / RUN) or is_file(folder / AUDITED / RUN)


def refuse_translation_run(folder: Path) -> None:
    """For what reads texts with labels."""
    if is_translation_run(folder):
        raise InputError(
            f"{folder} is a translation run: what reads texts with labels does not apply to it. Use it with attentest "
            "translate, or attentest.open_translation(…)."
        )


def read_run(folder: Path) -> tuple[RunRecord, dict[str, Any]]:
    """The record of a run, and its settings as they were written."""
    content = read_json(folder / RUN)
    record = checked(content, RunRecord, folder / RUN)
    if record.format != FORMAT:
        raise InputError(f"{folder / RUN} is of another version of attentest: `format` is not {FORMAT}.")
    if record.versions.get("attentest") == __version__:  # another version may have had fewer settings
        for group, kind in GROUPS.items():
            for setting in fields(kind):
                if setting.name not in content[group]:
                    raise InputError(f"{folder / RUN} is damaged: the field `{setting.name}` is missing at `{group}`.")
    return record, content


def read_result(folder: Path) -> ResultRecord:
    return read_as(folder / RESULT, ResultRecord)


def clear_for(folder: Path, identity: Mapping[str, Any], overwrite: bool, write: bool) -> None:
    """Refuse a folder that is another's; with `write`, remove what may be overwritten.

    Called once to refuse early, and again to remove when everything is ready to be written, as for other runs.
    """
    if not holds_files(folder):
        return
    if not is_translation_run(folder):
        raise DamagedRunError(f"{folder} holds files that are not a translation run", "choose another folder")
    try:
        stored = read_run(folder)[1]
    except InputError as error:
        what = f"{folder} holds files that are not a translation run ({str(error).rstrip('.')})"
        raise DamagedRunError(what, "choose another folder") from error
    finished = (folder / RESULT).exists()
    if {key: stored.get(key) for key in identity} == identity and not (overwrite and finished):
        return
    if (finished or (folder / CHECKPOINT).exists()) and not overwrite:
        raise DamagedRunError(
            f"{folder} already holds another run", "choose another folder, or replace it with `overwrite=True`"
        )
    if write:
        try:
            for name in reversed(FILES[1:]):  # the word that it is finished goes first
                remove(folder / name)
            remove_drafts(folder)
        except OSError as error:
            raise InputError(f"{folder} cannot be overwritten: {error.strerror}.") from error


def check_results(folder: Path) -> None:
    """Refuse a finished training whose files are not what it wrote."""
    try:
        files = read_result(folder).files
        for name in KEPT:
            if hash_of(folder / name) != files.get(name):
                raise InputError(f"{folder / name} is not what the training wrote")
    except InputError as error:
        raise DamagedRunError(str(error).rstrip(".")) from error
