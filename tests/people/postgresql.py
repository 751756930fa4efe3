"""A PostgreSQL server for tests, in a folder of its own, where Debian's binaries are installed."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def binaries() -> Path:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        pytest.skip("no PostgreSQL: install Debian's postgresql")
    return found[-1].parent


def as_other_user() -> dict[str, str]:
    """The server refuses to be run by root."""
    return {"user": "postgres", "group": "postgres"} if os.geteuid() == 0 else {}


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


@contextmanager
def postgresql() -> Iterator[str]:
    """The URL of a server without data, which ends with the test."""
    programs, port = binaries(), free_port()
    folder = Path(tempfile.mkdtemp(prefix="attentest-pg-"))
    if as_other_user():
        shutil.chown(folder, "postgres", "postgres")
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder, **as_other_user()}
    data = folder / "data"
    try:
        subprocess.run(
            [programs / "initdb", "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--locale=C", "-N"],
            check=True,
            **quiet,  # type: ignore[call-overload]
        )
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        start = [programs / "pg_ctl", "-D", data, "-w", "-t", "60", "-l", folder / "log", "-o", options, "start"]
        subprocess.run(start, check=True, **quiet)  # type: ignore[call-overload]
        try:
            yield f"postgresql://tester:quite-secret@127.0.0.1:{port}/postgres"
        finally:
            stop = [programs / "pg_ctl", "-D", data, "-m", "immediate", "stop"]
            subprocess.run(stop, check=True, **quiet)  # type: ignore[call-overload]
    finally:
        shutil.rmtree(folder, ignore_errors=True)
