"""What is looked at in a notebook, in a terminal, as a page and as a picture."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from attentest.display.show import show
from attentest.errors import InputError
from attentest.files import make_folder, write_bytes

if TYPE_CHECKING:
    from rich.console import RenderableType

One = TypeVar("One")


class Pictures(Sequence[One]):
    """Several of a kind that are shown together."""

    def __init__(self, pictures: Sequence[One]) -> None:
        self._pictures = list(pictures)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return self._pictures[index]

    def __len__(self) -> int:
        return len(self._pictures)

    @abstractmethod
    def html(self) -> str:
        """One self-contained page."""

    @abstractmethod
    def svg(self) -> str:
        """One picture of all of them."""

    @abstractmethod
    def __rich__(self) -> RenderableType: ...

    @abstractmethod
    def _repr_html_(self) -> str: ...

    def show(self) -> None:
        """Display them in a notebook, print them elsewhere."""
        show(self)

    def save(self, path: str | Path) -> Path:
        """Write one page or picture: the file's name ends in .html or .svg."""
        path = Path(path)
        kinds = {".html": self.html, ".svg": self.svg}
        if path.suffix not in kinds:
            raise InputError(f"Heat maps are saved as .html or .svg, not as '{path.name}'.")
        make_folder(path.parent)
        write_bytes(path, kinds[path.suffix]().encode())
        return path
