"""What docs/security.md promises: nothing of a file is executed, nothing is fetched or written unasked."""

from __future__ import annotations

import ast
import re
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from program import Program

import attentest
from attentest.audits import Audit

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "attentest"
DOCS = ROOT / "docs" / "security.md"
FORBIDDEN = {  # what turns the content of a file into code, and what starts other programs
    *("pickle", "cPickle", "dill", "cloudpickle", "shelve", "marshal", "joblib", "eval", "exec", "compile"),
    *("torch.load", "yaml.load", "yaml.unsafe_load", "yaml.full_load", "pd.read_pickle"),
    *("os.system", "os.popen", "subprocess", "pty", "runpy", "ctypes"),
}
ALLOWED = {"re.compile", "yaml.load"}  # yaml.load with our own loader, which is a SafeLoader


def names_in(tree: ast.Module) -> Iterator[str]:
    """Modules that are imported and functions that are called."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
        elif isinstance(node, ast.Call):
            yield ast.unparse(node.func)


def test_nothing_is_unpickled_evaluated_or_started() -> None:
    found = {
        (path.relative_to(SOURCE).as_posix(), name)
        for path in SOURCE.rglob("*.py")
        for name in names_in(ast.parse(path.read_text(encoding="utf-8")))
        if name in FORBIDDEN - ALLOWED
    }
    assert found == {("allocator.py", "ctypes")}  # which calls one function of the C library, with constants
    assert not [path for path in SOURCE.rglob("*.py") if "allow_pickle=True" in path.read_text(encoding="utf-8")]


def test_yaml_is_read_by_the_safe_loader_alone() -> None:
    from attentest.studies import schema
    from attentest.studies.reproduction import by_hand

    for loader in (schema._Loader, by_hand._Loader):
        assert "python/object" not in str(loader.yaml_constructors)
    for path in SOURCE.rglob("*.py"):
        for call in re.findall(r"yaml\.load\([^)]*\)", path.read_text(encoding="utf-8")):
            assert "_Loader" in call or "SafeLoader" in call, path


def test_nothing_is_fetched(audited: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Training, a trial and a page open no connection."""
    asked: list[object] = []

    def refused(self: object, address: object) -> None:
        asked.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket.socket, "connect", refused)
    monkeypatch.setattr(socket, "getaddrinfo", lambda *given, **named: asked.append(given))
    trained = attentest.train(attentest.load("planted", rows=80), tmp_path / "run", epochs=1, dimension=8, hidden=4)
    attentest.trial("uniform", trained)
    attentest.report(audited.folder, tmp_path / "page.html")
    assert asked == []


@pytest.mark.slow
def test_nothing_is_written_but_where_it_was_asked_for(
    command: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder, the store, and caches of ours."""
    for name in ("home", "here", "temporary"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.delenv("ATTENTEST_STORE", raising=False)
    monkeypatch.chdir(tmp_path / "here")
    small = ("-o", "rows=80", "-s", "hidden=4", "-s", "dimension=8", "--epochs", "1", "--texts", "5")
    done = command("audit", "planted", *small, "--out", "out", "--store", "store")
    assert done.code == 0, done.err
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    others = {name for name in written if not name.startswith(("here/out/", "here/store/", "home/.cache/attentest/"))}
    assert others == set()


def test_each_promise_names_a_test_that_there_is() -> None:
    text = DOCS.read_text(encoding="utf-8")
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", text)
    assert len(named) >= 15
    for file, test in named:
        content = (ROOT / file).read_text(encoding="utf-8")
        assert not test or f"def {test}(" in content, f"{file} has no {test}"
