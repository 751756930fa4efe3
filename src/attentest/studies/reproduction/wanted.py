"""Which figures of ours are kept: those that are published, or that a direction or a rule asks about."""

from __future__ import annotations

from collections.abc import Collection

from attentest.studies.comparable import Place, distances
from attentest.studies.published import STATISTICS, published, same_corpus, variant_name
from attentest.studies.reproduction.plan import first_model, study_of
from attentest.trials.cells import Cell


def wanted_places(paper: str, corpus: str) -> set[Place]:
    study = study_of(paper, corpus)
    sides = [side for direction in study.directions for side in (direction.more, direction.less)]
    first = first_model(study)
    theirs = [cell for cell in published(paper) if same_corpus(cell.corpus, corpus) and cell.trial != STATISTICS]
    return {
        *((cell.model, variant_name(cell.variant), cell.measure) for cell in theirs),
        *((side.model or first, variant_name(side.variant), side.measure) for side in sides if side.number is None),
    }


def is_wanted(paper: str, places: Collection[Place], model: str, cell: Cell) -> bool:
    place = (model, variant_name(cell.variant), cell.measure)
    return place in places or any(place == distance for one in places for _, distance in distances(paper, "", one))
