"""The order in which an annotator sees the items: another one for each, from the study's seed and the name alone."""

from __future__ import annotations

import hashlib

from attentest.people.study import PeopleStudy


def order_for(study: PeopleStudy, annotator: str) -> list[str]:
    """All items of a study, in an order that says nothing about their conditions."""
    return sorted(study.by_id, key=lambda item: _place(study.record.seed, annotator, item))


def _place(seed: int, annotator: str, item: str) -> bytes:
    # lengths first, so that no two different triples are written alike
    parts = [str(seed), annotator, item]
    return hashlib.sha256("".join(f"{len(part)}:{part}" for part in parts).encode("utf-8", "surrogatepass")).digest()
