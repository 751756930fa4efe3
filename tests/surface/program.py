"""The program as a user calls it, in the process of the tests: a new process spends seconds on its imports."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import NamedTuple

import pytest

from attentest import cli


class Answer(NamedTuple):
    code: int
    out: str
    err: str


Program = Callable[..., Answer]


def program(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    monkeypatch.setenv("COLUMNS", "200")

    def call(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["attentest", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        return Answer(int(stopped.value.code or 0), *capsys.readouterr())

    return call
