"""What a request may say, checked before anything is computed."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

MOST_CHARACTERS = 400_000
Name = Annotated[str, Field(max_length=200)]
Place = Annotated[int, Field(ge=0, le=2**31)]


class Reference(BaseModel):
    """A text: a row of the test split or one of your own, and from where it is looked at."""

    model_config = ConfigDict(extra="forbid", strict=True)

    row: Place | None = None
    text: Annotated[str, Field(max_length=MOST_CHARACTERS)] | None = None
    second: Annotated[str, Field(max_length=MOST_CHARACTERS)] | None = None
    window: Place = 0  # of a text that is read in windows
    site: Name | None = None
    head: Annotated[int, Field(ge=0, le=10_000)] | None = None  # all heads together unless one is named
    query: Place | None = None  # the token whose row is looked at, where every token has one
    view: Name | None = None
    special: bool = False  # special tokens count as tokens of the text, with weights of their own

    @property
    def key(self) -> tuple[Any, ...]:
        """What is read: a query chooses among what was."""
        return self.row, self.text, self.second, self.window, self.site, self.head, self.view, self.special


class Weighed(Reference):
    weights: Annotated[list[float], Field(max_length=100_000)]


class Measured(Reference):
    measure: Name


def reference(asked: Reference) -> Reference:
    """Without what was asked of the text."""
    return Reference(**{name: getattr(asked, name) for name in Reference.model_fields})
