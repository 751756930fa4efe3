"""The version of a piece of code: a hash of its module and of every module of this package that it imports."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "attentest"
_ROOT = Path(__file__).parents[1]


@cache
def code_version(*modules: str) -> str:
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += _imports(module)
    digest = hashlib.sha256()
    for module in sorted(found):
        digest.update(module.encode() + b"\0" + _source(module))
    return digest.hexdigest()


@cache
def _imports(module: str) -> tuple[str, ...]:
    """Modules of this package that a module imports, anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(_source(module))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return tuple(name for name in names if name.split(".")[0] == PACKAGE and name != PACKAGE and _file(name))


def _file(module: str) -> Path | None:
    if module.split(".")[0] != PACKAGE:  # a step of one's own
        spec = find_spec(module)
        return Path(spec.origin) if spec is not None and spec.origin else None
    path = _ROOT.joinpath(*module.split(".")[1:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _source(module: str) -> bytes:
    file = _file(module)
    return b"" if file is None else file.read_bytes()
