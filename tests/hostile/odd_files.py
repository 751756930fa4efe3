"""Things that may lie where a file or a folder is expected."""

from __future__ import annotations

import os
import socket
from pathlib import Path

STEERING = "\x1b[31mred\n\u202ename"
DEEP = "[" * 5000
LAUGHS = "name: x\ncorpora: [planted]\na0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
STUDIES = {
    "empty": "",
    "deep": f"corpora: {DEEP}",
    "laughs": LAUGHS,
    "recursive": "corpora: &a [*a]",
    "tagged": "corpora: !!python/object/apply:os.system ['touch tagged']",
    "long": "# " + "x" * 2_000_000,
    "infinite": "corpora: [planted]\ntraining: {lr: .inf}\ntrials: [permutation]",
    "huge": "corpora: [planted]\ntraining: {hidden: 2000000000}\ntrials: [permutation]",
    "seeds": "corpora: [planted]\nseeds: [-1, 99999999999999999999]\ntrials: [permutation]",
    "list": "- corpora",
    "unknown": "corpora: [planted]\ntrails: [permutation]",
}


def odd_files(folder: Path) -> dict[str, str]:
    """By name, each made in the folder."""
    places = {
        name: str(folder / name)
        for name in ("missing", "fifo", "socket", "file", "binary", "dangling", "loop", "empty folder", "others")
    }
    places |= {"long": str(folder / ("n" * 300)), "steering": str(folder / STEERING)}
    places["bytes"] = os.fsdecode(os.fsencode(folder) + b"/\xff\xfe")
    for name in ("empty.csv", "binary.csv", "fifo.csv", "folder.csv", "zip.parquet", "deep.jsonl"):
        places[name] = str(folder / name)
    for name in ("fifo", "fifo.csv", "fifo.yaml"):
        os.mkfifo(folder / name)
    _socket(folder, "socket")
    for name in ("file", "empty.csv"):
        (folder / name).touch()
    for name in ("binary", "binary.csv", "binary.yaml"):
        (folder / name).write_bytes(bytes(range(256)) * 10)
    (folder / "zip.parquet").write_bytes(b"PK\x03\x04" * 100)
    (folder / "deep.jsonl").write_text(DEEP, encoding="utf-8")
    for name in ("empty folder", "folder.csv", "folder.yaml", "others"):
        (folder / name).mkdir()
    (folder / "others" / "file").touch()
    for name in ("dangling", "dangling.yaml"):
        (folder / name).symlink_to(folder / "nowhere")
    for name in ("loop", "loop.yaml"):
        (folder / name).symlink_to(folder / name)
    for name, content in STUDIES.items():
        (folder / f"{name}.yaml").write_text(content, encoding="utf-8")
    for file in folder.glob("*.yaml"):
        places[file.name] = str(file)
    for name in ("loop.yaml", "dangling.yaml"):
        places[name] = str(folder / name)
    return places


def _socket(folder: Path, name: str) -> None:
    """Bound from within: the path of a socket must be short."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(name)
    finally:
        os.chdir(before)
