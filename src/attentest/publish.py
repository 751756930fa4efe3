"""Results put into a folder as one.

They are several files and folders, made in a draft beside those that they replace. Renaming the draft is the switch:
from then on these are the results, and if the process is killed before each is in its place, whoever opens the folder
next moves the rest. `published.json` lists every file with its hash, so that a reader notices those of another time.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from attentest.errors import InputError
from attentest.files import draft_of, hash_of, make_folder, read_as, remove, remove_drafts, write_json
from attentest.locks import locked

LOCK, NEXT, LIST, REPLACED = ".lock", ".next", "published.json", "replaced.json"
_NAME = re.compile(r"[^./\0][^/\0]*(/[^./\0][^/\0]*)?")
# what pages are made of, besides tables; specifications, pictures and CSV files are for people
_RECORDS = ("summary.json", "finding.json", "verdict.json", "run.json", "result.json", "vocabulary.json")


@dataclass(frozen=True)
class Published:
    """What published.json says."""

    plan: str  # key of the plan that gave the results; empty where nothing was planned
    files: dict[str, str]  # path -> hash


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Hold a folder, with everything that a killed process left in it cleared or finished."""
    with ExitStack() as held:
        with writing(folder):
            held.enter_context(locked(folder / LOCK))
            remove_drafts(folder)
            _finish_switch(folder)
        yield


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """What the disk refuses is a message."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror or error}.") from error


def settle(folder: Path) -> None:
    """Finish the switch to new results if a kill cut it short."""
    if (folder / NEXT).exists():
        with alone_in(folder):
            pass


@contextmanager
def replacing(folder: Path, names: Collection[str], plan: str | None = None) -> Iterator[Path]:
    """A draft to fill: what it holds takes the place of everything with these names, as one; call it alone in `folder`.

    A name is that of a file or folder, or of a file in a folder. `plan` says what the results are of; without it, they
    are of what the others there are of.
    """
    for name in names:
        _check_place(folder, name)
    draft = draft_of(folder / "results")
    make_folder(draft)
    try:
        yield draft
        with writing(folder):
            _switch(folder, draft, names, plan)
    finally:
        remove(draft)


def _switch(folder: Path, draft: Path, names: Collection[str], plan: str | None) -> None:
    now = _listed(folder)
    others = {path: was for path, was in now.files.items() if not any(_is_of(path, name) for name in names)}
    made = {path.relative_to(draft).as_posix(): hash_of(path) for path in draft.rglob("*") if path.is_file()}
    _list(draft, Published(now.plan if plan is None else plan, others | made))
    write_json(draft / REPLACED, sorted(names))
    draft.replace(folder / NEXT)
    _finish_switch(folder)


def check_whole(folder: Path, but: Collection[str] = ()) -> None:
    """Refuse results of which some were published at another time, or changed since; but for those with these names."""
    for path, was in _listed(folder).files.items():
        file = folder / path
        is_read = file.suffix == ".parquet" or file.name in _RECORDS
        if not is_read or any(_is_of(path, name) for name in but):
            continue
        if not file.is_file() or hash_of(file) != was:
            raise InputError(
                f"{file} is not what {LIST} lists: it was changed, or is not of the same time as the other results in "
                f"{folder}. Run the command that made them again."
            )


def is_published(folder: Path, results: Path, names: Collection[str]) -> bool:
    """Whether a folder has just these files of `results`, unchanged."""
    listed = _listed(folder).files
    return all(
        name in listed
        and (folder / name).is_file()
        and hash_of(folder / name) == listed[name] == hash_of(results / name)
        for name in names
    )


def plan_of(folder: Path) -> str:
    """What the results are of; empty if nothing was planned."""
    return _listed(folder).plan


def keep_plan(folder: Path, plan: str) -> None:
    """The same results are those of this plan, too."""
    if plan != plan_of(folder):
        _list(folder, Published(plan, _listed(folder).files))


def link_or_copy(source: Path, target: Path) -> None:
    """For files that are never written in place, so that both can be the same."""
    try:
        target.hardlink_to(source)
    except OSError:  # another file system
        shutil.copy2(source, target)


def _listed(folder: Path) -> Published:
    return read_as(folder / LIST, Published) if (folder / LIST).is_file() else Published("", {})


def _list(folder: Path, published: Published) -> None:
    write_json(folder / LIST, asdict(Published(published.plan, dict(sorted(published.files.items())))))


def _check_place(folder: Path, name: str) -> None:
    """Nothing is moved out of a folder or into another one, as a link would do it."""
    if not _NAME.fullmatch(name):
        raise InputError(f"{folder} was not written by attentest: it has results with the name {name!r}.")
    if "/" in name and (folder / name).parent.is_symlink():
        raise InputError(f"{(folder / name).parent} is a link; results are put into folders only. Remove it.")


def _is_of(path: str, name: str) -> bool:
    return path == name or path.startswith(f"{name}/")


def _finish_switch(folder: Path) -> None:
    """Move what is published to its places; a kill may come after any move, so the list goes in when all are done."""
    following = folder / NEXT
    if following.is_symlink() or not (following / LIST).is_file():
        remove(following)  # nothing of it is left, or it is not ours
        return
    for name in read_as(following / REPLACED, list[str]):
        target = folder / name
        _check_place(folder, name)
        _check_place(following, name)
        if os.path.lexists(following / name):
            target.parent.mkdir(exist_ok=True)
            remove(target)
            (following / name).replace(target)
        elif not any(_is_of(path, name) for path in _listed(following).files):
            remove(target)
    (following / LIST).replace(folder / LIST)
    remove(following)
