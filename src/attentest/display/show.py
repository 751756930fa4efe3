"""Results where people look at them: rich output in a notebook, text elsewhere, tables as pandas frames."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Protocol

from attentest.errors import InputError

if TYPE_CHECKING:
    from rich.console import RenderableType


class Showable(Protocol):
    """What notebooks ask for `_repr_html_`, and terminals for this."""

    def __rich__(self) -> RenderableType: ...


def show(result: Showable) -> None:
    """Display it under a notebook's cell, or print it."""
    if _in_notebook():
        from IPython.display import display  # type: ignore[import-not-found,unused-ignore]

        display(result)
        return
    from rich.console import Console

    Console().print(result)


def _in_notebook() -> bool:
    try:
        from IPython import get_ipython  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        return False
    return getattr(get_ipython(), "kernel", None) is not None


def to_pandas(table: Any) -> Any:
    """An Arrow table as a pandas DataFrame."""
    if find_spec("pandas") is None:
        raise InputError("to_pandas() needs pandas, which is not installed: pip install pandas")
    return table.to_pandas()
