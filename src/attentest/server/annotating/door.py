"""Who asks: the annotator whose token came with the request, as often as one person reasonably does."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from typing import Annotated

from fastapi import Depends, HTTPException
from fastapi.concurrency import run_in_threadpool
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from attentest.people.answers import Answers
from attentest.server.safety import Bucket

WRONG = "This link is not valid. Open the whole link that you were given, or ask for a new one."
KEPT = 2.0  # seconds for which a token that was found need not be looked up again
bearer = HTTPBearer(auto_error=False, description="The part of an annotator's link after the #.")


class Door:
    """A limit for each annotator, not for each address: a class of fifty may sit behind one."""

    def __init__(self, answers: Answers, clock: Callable[[], float] = time.monotonic) -> None:
        self.answers, self.clock = answers, clock
        self.bucket = Bucket(most=300, per_second=50)
        self.found: dict[bytes, tuple[str, float]] = {}  # hash of a valid token -> whose it is, and until when

    async def __call__(self, sent: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]) -> str:
        name = None if sent is None else await self._whose(sent.credentials)
        if name is None:
            raise HTTPException(401, WRONG, {"www-authenticate": "Bearer"})
        if not self.bucket.takes(name):
            raise HTTPException(429, "Too many requests; wait a moment.", {"retry-after": "1"})
        return name

    async def _whose(self, token: str) -> str | None:
        """Under its hash, so that the time of the look tells nothing about the tokens that there are."""
        hashed = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        kept = self.found.get(hashed)
        if kept is not None and self.clock() < kept[1]:
            return kept[0]
        name = await run_in_threadpool(self.answers.annotator_of, token)
        if name is None:
            self.found.pop(hashed, None)
        else:
            self.found[hashed] = name, self.clock() + KEPT
        return name


def address_bucket() -> Bucket:
    """For all who come from one address."""
    return Bucket(most=3_000, per_second=1_000)
