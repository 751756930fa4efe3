"""Which layers are changed together: all, cumulatively from below and from above in each stack, and one at a time."""

from __future__ import annotations

from collections.abc import Iterable

ALL = "all layers"
BELOW, ABOVE = "from below", "from above"


def layer_choices(sites: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """By what summaries call them; the same layers may have several names."""
    every = tuple(sites)
    found = {ALL: every}
    for place, stack in _stacks(every).items():
        for n in range(1, len(stack) + 1):
            found[f"{n} {BELOW}{place}"] = stack[:n]
        for n in range(1, len(stack) + 1):
            found[f"{n} {ABOVE}{place}"] = stack[-n:]
    return found | {site: (site,) for site in every}


def span(sites: tuple[str, ...]) -> str:
    """What tables call them: a layer, or the first and the last."""
    return sites[0] if len(sites) == 1 else f"{sites[0]} to {sites[-1]}"


def _stacks(sites: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Encoder, decoder and what is between them apart: by what to add to a name where there are several."""
    found: dict[str, list[str]] = {}
    for site in sites:
        found.setdefault(site.rpartition(".")[0], []).append(site)
    return {f" of {name}" if len(found) > 1 else "": tuple(stack) for name, stack in found.items()}
