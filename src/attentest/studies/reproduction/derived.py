"""Figures that a paper gives as means over the cells of a table: made of ours in the same way."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from attentest.trials.cells import Cell

Ours = Mapping[tuple[str, str], Mapping[int, list[Cell]]]
SINGLE = "all single sequence"  # Vashishth et al. 2019, §4.1
TABLE_1 = [(c, m) for c in ("sst_jw", "imdb_jw", "ag_news_jw", "yelp_stars_sample") for m in ("bilstm+additive", "han")]
VARIANTS = (
    *("uniform, trained and inferred", "random, trained and inferred"),
    *("uniform, inferred", "random, inferred", "permuted, inferred"),
)


def derived(paper: str, ours: Ours) -> dict[tuple[str, str], dict[int, list[Cell]]]:
    """By corpus and model, as the paper calls them; of the seeds that all cells of the table have."""
    return {(SINGLE, "all"): _of_single_texts(ours)} if paper == "vashishth2019" else {}


def _of_single_texts(ours: Ours) -> dict[int, list[Cell]]:
    by_seed = [ours.get(place, {}) for place in TABLE_1]
    seeds = set.intersection(*(set(seeds) for seeds in by_seed))
    found = {seed: [_figures([seeds[seed] for seeds in by_seed], variant) for variant in VARIANTS] for seed in seeds}
    return {seed: [cell for some in cells for cell in some] for seed, cells in found.items()}


def _figures(tables: list[list[Cell]], variant: str) -> list[Cell]:
    """The mean decrease of accuracy in points, and relative to the model's own."""
    values = [{(cell.variant, cell.measure): cell.value for cell in cells} for cells in tables]
    change = [cells.get((variant, "delta accuracy %"), math.nan) for cells in values]
    base = [cells.get(("base", "accuracy %"), math.nan) for cells in values]
    points = -np.array(change)
    figures = {"accuracy decrease %": points.mean(), "relative decrease %": (100 * points / np.array(base)).mean()}
    return [Cell(variant, measure, float(value), math.nan, math.nan) for measure, value in figures.items()]
