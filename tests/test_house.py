"""Data flows down: a room of the package imports only from rooms above it, wherever in a file the import stands."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import attentest

PACKAGE = Path(attentest.__file__).parent
ROOMS = (  # from the lowest; docs/architecture.md says what is in each
    *(
        "errors",
        "version",
        "lazy",
        "settings",
        "chance",
        "parallel",
        "progress",
        "locks",
        "memory",
        "allocator",
        "files",
        "columns",
        "publish",
        "display",
        "corpora",
    ),
    *("text", "measures"),
    *(
        "models",
        "interventions",
        "layer_interventions",
        "training",
        "translation",
        "importance",
        "trials",
        "engine",
        "studies",
        "reports",
        "exports",
        "audits",
        "calibrations",
    ),
    *("comparisons", "calibrations", "runs", "estimator", "people", "server"),
    *("__init__", "cli", "__main__"),
)


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(module: str) -> str:
    """attentest.trials.charts -> trials; the package itself is the room of its public names."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else "__init__"


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def imports(source: str) -> Iterator[tuple[int, str]]:
    """Lines and rooms of everything that is imported from this package."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "attentest":
            names = [f"attentest.{alias.name}" for alias in node.names] if node.module == "attentest" else [node.module]
            yield from ((node.lineno, room_of(name)) for name in names if name)
        elif isinstance(node, ast.Import):
            yield from (
                (node.lineno, room_of(alias.name)) for alias in node.names if alias.name.split(".")[0] == "attentest"
            )


def upward(path: Path, source: str) -> list[str]:
    own = room_of(module_name(path))
    return [
        f"{path.relative_to(PACKAGE.parent)}:{line} imports {room}, which lies above {own}"
        for line, room in imports(source)
        if room in ROOMS and ROOMS.index(room) > ROOMS.index(own)
    ]


def test_every_room_has_its_place() -> None:
    assert {room_of(module_name(path)) for path in modules()} == set(ROOMS)


def test_no_import_goes_up() -> None:
    assert [line for path in modules() for line in upward(path, path.read_text(encoding="utf-8"))] == []


def test_an_import_that_goes_up_is_told_with_its_line() -> None:
    source = "def show():\n    from attentest.reports.page import render\n"
    (found,) = upward(PACKAGE / "corpora" / "corpus.py", source)
    assert found == "attentest/corpora/corpus.py:2 imports reports, which lies above corpora"
    assert upward(PACKAGE / "reports" / "page.py", "from attentest.corpora import load") == []


def text_of_any_encoding(source: str) -> list[int]:
    """Lines that read or write text in whatever encoding the machine's locale has."""
    lines = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        method = isinstance(node.func, ast.Attribute)
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        name = called if method or called == "open" else ""
        mode = node.args[0 if method else 1 :][:1]
        binary = name == "open" and any(isinstance(m, ast.Constant) and "b" in str(m.value) for m in mode)
        known = any(keyword.arg == "encoding" for keyword in node.keywords)
        if name in ("open", "read_text", "write_text") and not binary and not known:
            lines.append(node.lineno)
    return lines


def test_text_has_an_encoding() -> None:
    checked = [*modules(), *(PACKAGE.parents[1] / "benchmarks").glob("*.py")]
    assert [
        f"{path}:{line}" for path in checked for line in text_of_any_encoding(path.read_text(encoding="utf-8"))
    ] == []


def test_text_without_an_encoding_is_found() -> None:
    named = 'a.read_text()\nopen("b")\nopen("b", "rb")\na.write_text("b")\na.open("w")\na.open("wb")'
    assert text_of_any_encoding(named) == [1, 2, 4, 5]
    assert text_of_any_encoding('a.read_text(encoding="utf-8")\nopen("x", encoding="ascii")\nread_text(file)') == []
