"""A translation's weights on its source as a map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from attentest.display.heatmaps import Grid, Grids
from attentest.errors import InputError, expect_type, unknown_name
from attentest.translation.model import is_source_site

if TYPE_CHECKING:
    from attentest.translation.run import Translation, TranslationRun

MEAN = "mean of heads"


def maps_of(
    translations: Sequence[Translation],
    site: str | None = None,
    head: int | None = None,
    *,
    ids: Sequence[str] | None = None,
    about: str = "",
) -> Grids:
    """Source × target maps of every layer and head; of a layer [the last] the mean of its heads or one head is shown
    first."""
    names = ids or [str(number) for number in range(1, len(translations) + 1)]
    return Grids([_map(one, site, head, name, about) for one, name in zip(translations, names, strict=True)])


def _map(one: Translation, site: str | None, head: int | None, name: str, about: str) -> Grid:
    sites = [site for site in one.weights if is_source_site(site)]
    if not sites:
        raise InputError("The translation has no weights; translate with `with_weights=True` to see them.")
    chosen = sites[-1] if site is None else site
    if chosen not in sites:
        raise unknown_name("site with weights on the source", chosen, sites)
    heads = len(one.weights[chosen])
    if head is not None:
        expect_type("head", head, int)
    if head is not None and not 0 <= head < heads:
        raise InputError(f"head is {head}; the heads of {chosen} are 0 to {heads - 1}.")
    views: dict[str, Float[np.ndarray, "rows columns"]] = {}
    for each in sites:
        rows = one.weights[each]
        views[view_name(each, None, len(rows))] = rows.mean(0)
        if len(rows) > 1:
            views |= {view_name(each, number, len(rows)): rows[number] for number in range(len(rows))}
    shown = view_name(chosen, head if heads > 1 else None, heads)
    return Grid(name, one.source, one.text, one.source_tokens, one.target_tokens, views, shown, about)


def view_name(site: str, head: int | None, heads: int) -> str:
    if heads == 1:
        return site
    return f"{site} {MEAN}" if head is None else f"{site} head {head}"


def chosen_rows(run: TranslationRun, n: int, ids: Sequence[str] | None, seed: int) -> list[int]:
    """Of the test split: the pairs with these ids, or a random sample."""
    known = {id: row for row, id in enumerate(run.translations["id"].to_pylist())}
    for id in ids or ():
        if id not in known:
            raise InputError(f"No test text has the id '{id}'.")
    if ids:
        return [known[id] for id in ids]
    for name, value, least in (("n", n, 1), ("seed", seed, 0)):
        expect_type(name, value, int)
        if value < least:
            raise InputError(f"{name} is {value}; it must be at least {least}.")
    return [int(row) for row in np.random.default_rng(seed).permutation(len(known))[:n]]
