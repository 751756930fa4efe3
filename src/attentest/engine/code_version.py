"""The version of a piece of code: a hash of what it does, and of every module of this package that it imports.

What it does is its syntax tree, without what only people read: comments, docstrings and help texts.
"""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path

PACKAGE = "attentest"
SPEAKING = (  # modules that show, tell and put things into their place: no result depends on them
    *("display.heatmaps", "display.show", "display.tables"),
    *("errors", "lazy", "locks", "progress", "publish", "version"),
)
SAID_ON_PAGES = ("how_to_read", "source", "needs")  # class variables that a page reads from the class
_ROOT = Path(__file__).parents[1]


@cache
def code_version(*modules: str) -> str:
    digest = hashlib.sha256()
    for module in sorted(imported_by(*modules)):
        digest.update(module.encode() + b"\0" + _digest(module))
    return digest.hexdigest()


@cache
def _digest(module: str) -> bytes:
    return hashlib.sha256(meaning(_source(module)).encode()).digest()


def imported_by(*modules: str) -> set[str]:
    """These modules, and all of this package that they import, directly or not."""
    found: set[str] = set()
    waiting = list(modules)
    while waiting:
        module = waiting.pop()
        if module not in found:
            found.add(module)
            waiting += _imports(module)
    return found


def meaning(source: bytes) -> str:
    """The syntax tree of a source as text, without what only people read."""
    return ast.dump(_ForMachines().visit(ast.parse(source)))


class _ForMachines(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        alone = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if alone else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name == "setting":  # a setting's default counts, not what is told about it and refused
            node.args, node.keywords = node.args[:1], []
        if name == "Part":  # of a model: all but its summary
            node.args = node.args[1:]
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        of_class = isinstance(node.annotation, ast.Subscript) and ast.unparse(node.annotation.value) == "ClassVar"
        said = of_class and isinstance(node.target, ast.Name) and node.target.id in SAID_ON_PAGES
        return None if said else self.generic_visit(node)


@cache
def _imports(module: str) -> tuple[str, ...]:
    """Modules of this package that a module imports, anywhere in it, and that a result may depend on."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(_source(module))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return tuple(sorted(name for name in names if _counts(name)))


def _counts(name: str) -> bool:
    package, _, module = name.partition(".")
    speaks = any(module == one or module.startswith(f"{one}.") for one in SPEAKING)
    return package == PACKAGE and bool(module) and not speaks and _file(name) is not None


def _file(module: str) -> Path | None:
    if module.split(".")[0] != PACKAGE:  # a step of the user's own
        spec = find_spec(module)
        return Path(spec.origin) if spec is not None and spec.origin else None
    path = _ROOT.joinpath(*module.split(".")[1:])
    return next((file for file in (path.with_suffix(".py"), path / "__init__.py") if file.is_file()), None)


def _source(module: str) -> bytes:
    file = _file(module)
    return b"" if file is None else file.read_bytes()
