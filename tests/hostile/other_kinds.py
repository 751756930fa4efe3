"""Something else in the place of a file or a folder."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from attentest.files import remove


def file(path: Path) -> None:
    path.write_text("no folder", encoding="utf-8")


def folder(path: Path) -> None:
    path.mkdir()
    (path / "inside").write_text("in a folder", encoding="utf-8")


def dangling_link(path: Path) -> None:
    path.symlink_to(path.parent / "nowhere")


def link_loop(path: Path) -> None:
    path.symlink_to(path)


def link_to_file(path: Path) -> None:
    elsewhere = path.parent.parent / f"elsewhere-{path.name}"
    elsewhere.write_text("of somebody else", encoding="utf-8")
    path.symlink_to(elsewhere)


def pipe(path: Path) -> None:
    os.mkfifo(path)


def unreadable_file(path: Path) -> None:
    path.write_text("{}", encoding="utf-8")
    path.chmod(0)


def unreadable_folder(path: Path) -> None:
    path.mkdir()
    path.chmod(0)


Damage = Callable[[Path], object]
ALWAYS: tuple[Damage, ...] = (dangling_link, link_loop, pipe)
IN_PLACE_OF_A_FILE: tuple[Damage, ...] = (folder, *ALWAYS)
IN_PLACE_OF_A_FOLDER: tuple[Damage, ...] = (file, link_to_file, *ALWAYS)
if os.geteuid():  # root reads everything
    IN_PLACE_OF_A_FILE += (unreadable_file,)
    IN_PLACE_OF_A_FOLDER += (unreadable_folder,)


def put_in_place(damage: Damage, path: Path) -> None:
    """Put something else where a file or a folder is, or is not yet."""
    if os.path.lexists(path):
        remove(path)
    damage(path)


def restore(source: Path, target: Path) -> None:
    """Make a folder as it was again."""
    if os.path.lexists(target):
        remove(target)
    shutil.copytree(source, target)
