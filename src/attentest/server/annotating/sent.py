"""What an annotator's page may send, checked before anything is stored."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from attentest.errors import InputError
from attentest.people.answers import Given
from attentest.people.study import Asked, Item

LONGEST_COMMENT = 2_000
LONGEST_TIME = 2**53 - 1  # what a browser counts exactly


class Entry(BaseModel):
    """`key` is made once for each entry: however often it is sent, it is stored once."""

    model_config = ConfigDict(extra="forbid", strict=True)

    key: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{16,64}$")]
    item: Annotated[str, Field(max_length=64)]


class SentAnswer(Entry):
    relevant: bool
    milliseconds: Annotated[int, Field(ge=0, le=LONGEST_TIME)]
    highlighted: Annotated[list[Annotated[int, Field(ge=0, le=2**31)]], Field(max_length=100_000)] | None = None
    confidence: Annotated[int, Field(ge=1, le=5)] | None = None
    comment: Annotated[str, Field(max_length=LONGEST_COMMENT)] | None = None


class SentUndo(Entry):
    pass


def given_of(sent: SentAnswer, item: Item, asked: Asked) -> Given:
    """What is stored. It holds what the study asks for, no more and no less."""
    for name, wanted in (("highlighted", asked.highlight), ("confidence", asked.confidence)):
        if (getattr(sent, name) is not None) != wanted:
            raise InputError(f"{name}: this study {'asks for it' if wanted else 'does not ask for it'}.")
    if sent.comment is not None and not asked.comment:
        raise InputError("comment: this study does not ask for it.")
    if any(word >= len(item.start) for word in sent.highlighted or ()):
        raise InputError(f"highlighted: the text has only {len(item.start)} words.")
    comment = (sent.comment or "").strip() or None
    return Given(sent.item, sent.relevant, sent.highlighted, sent.confidence, comment, sent.milliseconds)
