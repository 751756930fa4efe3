"""Who asks: the annotator whose token came with the request, as often as one person reasonably does."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, HTTPException
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from attentest.people.answers import Answers
from attentest.server.safety import Bucket

WRONG = "This link is not valid. Open the whole link that you were given, or ask for a new one."
bearer = HTTPBearer(auto_error=False, description="The part of an annotator's link after the #.")


class Door:
    """A limit for each annotator, not for each address: a class of fifty may sit behind one."""

    def __init__(self, answers: Answers) -> None:
        self.answers = answers
        self.bucket = Bucket(most=300, per_second=50)

    def __call__(self, sent: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> str:
        name = None if sent is None else self.answers.annotator_of(sent.credentials)
        if name is None:
            raise HTTPException(401, WRONG, {"www-authenticate": "Bearer"})
        if not self.bucket.takes(name):
            raise HTTPException(429, "Too many requests; wait a moment.", {"retry-after": "1"})
        return name


def address_bucket() -> Bucket:
    """For all who come from one address."""
    return Bucket(most=3_000, per_second=1_000)
