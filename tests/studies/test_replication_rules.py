"""When a figure of ours counts as a published one: over seeds, by a tolerance with a source, from one table."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from attentest.corpora.recipes import NLI
from attentest.studies import PAPERS, find_study
from attentest.studies.comparable import BORROWED, distances
from attentest.studies.directions import Direction, Side, examine, of_cells, printed_by
from attentest.studies.expand import with_budget
from attentest.studies.over_seeds import over_seeds
from attentest.studies.published import (
    CellComparison,
    compare,
    estimates,
    in_table,
    pool,
    published,
    trainings_behind,
    variant_name,
)
from attentest.studies.reproduction.plan import first_model, task_of
from attentest.studies.reproduction.wanted import is_wanted
from attentest.trials.cells import Cell

NAN = math.nan
MODEL = "bilstm+additive"


def seeds(variant: str, measure: str, *values: float, half: float = 0.02) -> dict[int, list[Cell]]:
    return {seed: [Cell(variant, measure, v, v - half, v + half, n=100)] for seed, v in enumerate(values)}


def one(paper: str, table: str, corpus: str, cells: dict[int, list[Cell]], convention: float) -> CellComparison:
    compared = compare(paper, {(corpus, MODEL): cells}, {table: convention})
    [found] = [c for c in compared if c.theirs.table == table and c.ours is not None]
    return found


def test_the_mean_over_seeds_and_its_interval() -> None:
    found = over_seeds([Cell("base", "f1", v, v - 0.02, v + 0.02, n=50) for v in (0.80, 0.82, 0.84)])
    assert found is not None
    assert found.estimate.value == pytest.approx(0.82)
    assert found.deviation == pytest.approx(0.02)
    assert found.seeds == 3
    assert found.estimate.n == 50
    # by hand: Student's t of two degrees of freedom, 4.3027 × 0.02 / √3 = 0.04968; with 0.02 over texts 0.05356
    assert found.estimate.high - 0.82 == pytest.approx(0.05356, abs=1e-4)
    assert found.one_more == pytest.approx(4.3027 * 0.02 * math.sqrt(4 / 3), abs=1e-4)


def test_one_training_has_no_spread_but_its_interval_over_texts() -> None:
    found = over_seeds([Cell("base", "f1", 0.8, 0.75, 0.85, n=9), Cell("base", "f1", NAN, NAN, NAN)])
    assert found is not None
    assert (found.seeds, found.deviation) == (1, None)
    assert (found.estimate.low, found.estimate.high) == (0.75, 0.85)
    assert over_seeds([Cell("base", "f1", NAN, NAN, NAN)]) is None


def test_a_figure_without_an_interval_over_texts_has_one_over_trainings() -> None:
    found = over_seeds([Cell("base", "tau", v, NAN, NAN) for v in (0.1, 0.2)])
    assert found is not None
    assert found.estimate.low < 0.1
    assert found.texts == 0


def test_a_training_without_an_interval_takes_that_of_the_others_from_nobody() -> None:
    """Of three, one stands on too few texts: the interval over texts is that of the two others, .02 and .04."""
    cells = [Cell("bin", "median tvd", value, value - half, value + half, n=n)
             for value, half, n in ((0.1, 0.02, 20), (0.2, 0.04, 30), (0.3, NAN, 4))]  # fmt: skip
    found = over_seeds(cells)
    assert found is not None
    assert found.estimate.value == pytest.approx(0.2)
    assert found.texts == pytest.approx(0.03)
    assert found.estimate.n == 20
    # by hand: hypot(4.3027 × 0.1 / √3, 0.03) = hypot(.24841, .03) = .25022
    assert found.estimate.high - 0.2 == pytest.approx(0.25022, abs=1e-4)


def test_with_one_training_the_convention_counts_and_says_so() -> None:
    found = one("wiegreffe2019", "Table 2", "sst_jw", seeds("base", "f1", 0.82), 0.03)  # published .831
    assert found.tolerance is not None
    assert (found.tolerance.source, found.tolerance.value, found.status) == ("our convention", 0.03, "within")


def test_with_three_the_spread_of_our_own_seeds_counts() -> None:
    near = one("wiegreffe2019", "Table 2", "sst_jw", seeds("base", "f1", 0.818, 0.820, 0.822, half=0.001), 0.03)
    assert near.tolerance is not None
    assert near.tolerance.source == "spread over our seeds"
    # by hand: hypot(4.3027 × 0.002 × √(4/3), 0.001) + 0.0005 = 0.01049; published .831 is .011 away
    assert near.tolerance.value == pytest.approx(0.01049, abs=1e-4)
    assert near.status == "outside"
    assert near.within_convention
    wider = one("wiegreffe2019", "Table 2", "sst_jw", seeds("base", "f1", 0.816, 0.820, 0.824, half=0.001), 0.03)
    assert wider.status == "within"


def test_a_printed_deviation_over_trainings_is_the_tolerance() -> None:
    # Vashishth et al. Table 1: 83.4 ± 0.5 on SST
    found = one("vashishth2019", "Table 1", "sst_jw", seeds("base", "accuracy %", 82.6, half=0.2), 0.03)
    assert found.tolerance is not None
    assert found.tolerance.source == "printed deviation"
    assert found.tolerance.value == pytest.approx(math.hypot(1.96 * 0.5, 0.2) + 0.05, abs=1e-3)
    assert found.status == "within"


def test_a_printed_deviation_over_texts_is_none() -> None:
    # Jain & Wallace Table 2 prints 0.34 ± 0.21, the deviation over texts: with it, .15 would be near
    cells = seeds("class 0", "tau attention – gradient-input-fixed", 0.15)
    found = one("jain2019", "Table 2", "sst_jw", cells, 0.1)
    assert found.theirs.deviation == 0.21
    assert found.tolerance is not None
    assert (found.tolerance.source, found.status) == ("our convention", "outside")


def test_trainings_that_differ_too_much_give_no_tolerance() -> None:
    """Their spread would let nearly any figure pass."""
    for values, status in (((0.5, 0.7, 0.9), "outside"), ((0.7, 0.85, 0.95), "within")):  # on average .70 and .833
        found = one("wiegreffe2019", "Table 2", "sst_jw", seeds("base", "f1", *values), 0.03)
        assert found.tolerance is not None
        assert (found.tolerance.source, found.tolerance.value) == ("our convention", 0.03)
        assert found.status == status


def adversary(jsd: float) -> dict[int, list[Cell]]:
    cells = [("delta accuracy", 0.0), ("accuracy", 0.9), ("jsd", jsd)]
    return {0: [Cell("unfrozen", name, value, value - 0.01, value + 0.01, n=600) for name, value in cells]}


@pytest.mark.parametrize(
    ("jsd", "distance", "others"), [(0.29, "outside", "not comparable"), (0.67, "within", "within")]
)
def test_an_adversary_that_stays_near_is_not_comparable_but_its_distance_is(
    jsd: float, distance: str, others: str
) -> None:
    compared = compare("meister2021", {("imdb_jw", MODEL): adversary(jsd)}, {"Table 5": 0.1})
    found = {c.theirs.measure: c for c in compared if c.ours is not None}
    assert {name: c.status for name, c in found.items()} == {
        "jsd": distance,
        "accuracy": others,
        "delta accuracy": others,
    }
    near = {name for name, c in found.items() if "mean JSD 0.29, at least 0.4" in c.reason}
    assert near == ({"accuracy", "delta accuracy"} if jsd < 0.4 else set())


@pytest.mark.parametrize(("jsd", "said"), [(0.29, "not comparable"), (0.41, "found")])
def test_nor_does_its_direction_count(jsd: float, said: str) -> None:
    direction = Direction("loses little", "Table 5", Side("unfrozen", "delta accuracy"), Side(number=-0.02))
    cells = {(MODEL, c.variant, c.measure): c for c in adversary(jsd)[0]}
    printed = printed_by("meister2021", "imdb_jw")
    [found] = examine([direction], "imdb_jw", MODEL, of_cells(cells), printed, paper="meister2021")
    assert found.replicated == said
    assert ("JSD" in found.decides) == (jsd < 0.4)


def test_a_published_difference_is_of_one_table() -> None:
    """Jain & Wallace print .34 and .61 in Table 2; their result files have .343 for the first, and nothing for the
    second: mixed, the difference would be .267."""
    measure = "tau attention – gradient-input-fixed"
    more, less = Side("class 0", measure, "average+additive"), Side("class 0", measure, MODEL)
    in_files = in_table("jain2019", "sst_jw", "result files")[(MODEL, "class 0", measure)].value
    printed = {
        c.table for c in published("jain2019") if (c.corpus, c.variant, c.measure) == ("sst_jw", "class 0", measure)
    }
    assert printed == {"Table 2", "result files"}
    assert in_files != 0.34
    for source, theirs in (("Table 2", 0.61 - 0.34), ("result files", NAN), ("§9", NAN)):
        direction = Direction("more", source, more, less)
        [found] = examine([direction], "sst_jw", MODEL, lambda place: None, printed_by("jain2019", "sst_jw"))
        assert found.theirs == pytest.approx(theirs, nan_ok=True)
        assert found.replicated == "not tested"


BIN = "largest weight in [.75, 1], class 0"


@pytest.mark.parametrize(
    ("variant", "measure", "trainings", "said"),
    [
        ("base", "accuracy", 1, "about 400 texts would decide"),
        ("base", "weighted tau", 1, "about 400 clusterings would decide"),
        (BIN, "median tvd", 1, "about 400 texts with a largest weight in [.75, 1] would decide"),
        # 4.303/√3 = 2.484, half of which is 1.2421; 2.776/√5 = 1.2416
        ("base", "accuracy", 3, "about 5 trainings, each tested on about 400 texts, would decide"),
        ("base", "weighted tau", 3, "about 5 trainings, each with about 400 clusterings, would decide"),
    ],
)
def test_what_would_decide_a_direction(variant: str, measure: str, trainings: int, said: str) -> None:
    direction = Direction("above .8", "§5", Side(variant, measure), Side(number=0.8))
    cells = {(MODEL, variant, measure): Cell(variant, measure, 0.81, 0.79, 0.83, n=100)}
    # by hand: the interval reaches .02 towards a threshold that is .01 away: four times as many texts
    printed = printed_by("wen2022", "sst_jw")
    [found] = examine(
        [direction], "sst_jw", MODEL, of_cells(cells), printed, paper="wen2022", trainings=lambda _: trainings
    )
    assert (found.replicated, found.decides) == ("cannot be told", said)


@pytest.mark.parametrize(
    ("variant", "measure", "n", "why"),
    [
        (BIN, "median tvd", 5, "it has no interval: 5 texts with a largest weight in [.75, 1] are too few"),
        ("base", "bleu", 9, "it has no interval: 9 texts are too few"),
        ("base", "bleu", 0, "it has no interval, and the number of texts behind it is not known"),
        (
            *("fix attention", "delta weighted tau", 3),
            "it has no interval: its 3 clusterings are too few, or all give the same figure",
        ),
    ],
)
def test_a_direction_that_was_run_but_has_no_interval_cannot_be_told(
    variant: str, measure: str, n: int, why: str
) -> None:
    direction = Direction("below .5", "Fig. 2", Side(number=0.5), Side(variant, measure))
    cells = {(MODEL, variant, measure): Cell(variant, measure, 0.494, NAN, NAN, n=n)}
    printed = printed_by("vashishth2019", "imdb_jw")
    [found] = examine([direction], "imdb_jw", MODEL, of_cells(cells), printed, paper="vashishth2019")
    assert (found.replicated, found.decides) == ("cannot be told", why)


def test_a_bin_without_texts_was_run_if_another_has_some() -> None:
    direction = Direction("below .5", "Fig. 2", Side(number=0.5), Side(BIN, "median tvd"))
    other, all_texts = BIN.replace("class 0", "class 1"), "permuted"
    for there, said in ((other, "cannot be told"), (all_texts, "cannot be told"), ("uniform", "not tested")):
        cells = {(MODEL, there, "median tvd"): Cell(there, "median tvd", 0.1, 0.05, 0.15, n=90)}
        [found] = examine([direction], "imdb_jw", MODEL, of_cells(cells), printed_by("vashishth2019", "imdb_jw"))
        assert found.replicated == said
        assert (found.decides == "there are no texts with a largest weight in [.75, 1]") == (said != "not tested")


def test_trainings_are_those_behind_the_figures_of_a_direction() -> None:
    of_base, of_dot = (Cell("base", "weighted tau", v, v - 0.02, v + 0.02, n=100) for v in (0.81, 0.80))
    pooled = {
        (MODEL, "base", "weighted tau"): over_seeds([of_base] * 3),
        ("bilstm+dot", "base", "weighted tau"): over_seeds([of_dot]),
    }
    ours = {place: found for place, found in pooled.items() if found is not None}
    asked: list[int] = []

    def trainings(place: tuple[str, str, str]) -> int:
        asked.append(trainings_behind(ours)(place))
        return asked[-1]

    direction = Direction("more", "§5", Side("base", "weighted tau"), Side("base", "weighted tau", "bilstm+dot"))
    [found] = examine(
        [direction], "sst_jw", MODEL, estimates(ours), printed_by("wen2022", "sst_jw"), trainings=trainings
    )
    assert asked == [3, 1]
    assert "trainings" not in found.decides  # the fewest count: by texts alone


@pytest.mark.parametrize(
    ("strength", "jsd", "others", "distance"),
    [
        ("6e-4", 0.26, "not comparable", "outside"),  # theirs .513
        ("6e-4", 0.45, "within", "within"),
        ("1e-4", 0.02, "within", "within"),  # theirs .064: near, too
    ],
)
def test_an_adversary_that_is_near_where_theirs_is_far_is_not_comparable(
    strength: str, jsd: float, others: str, distance: str
) -> None:
    variant = f"adversary, lambda={float(strength):g}"
    cells = [Cell(variant, name, value, 0, 1, n=600) for name, value in (("f1", 0.82), ("tvd", 0.035), ("jsd", jsd))]
    compared = compare("wiegreffe2019", {("sst_jw", MODEL): {0: cells}}, {"Table 5": 0.1})
    found = [c for c in compared if c.ours is not None and c.theirs.table == "Table 5"]
    assert [c.theirs.measure for c in found] == ["f1", "tvd", "jsd"]
    assert [c.status for c in found] == [others, others, distance]
    assert all(("not far from the base, where theirs is" in c.reason) == (c.status == "not comparable") for c in found)


def guided(jsd: float) -> list[Cell]:
    """The guides' figures of Wiegreffe & Pinter Table 3, and the distance of the adversary that guides."""
    gain = "f1 gain over guide: adversary"
    figures = {("guide: adversary", "f1"): 0.87, ("guide: base LSTM", "f1"): 0.87, ("guide: base LSTM", gain): 0.2}
    cells = [
        Cell(*name, value, value - 0.01, value + 0.01, "average+additive", n=900) for name, value in figures.items()
    ]
    return [*cells, Cell("adversary, lambda=0.001", "jsd", jsd, jsd - 0.01, jsd + 0.01, n=900)]


@pytest.mark.parametrize(
    ("jsd", "status", "said"), [(0.27, "not comparable", "not comparable"), (0.6, "outside", "found")]
)
def test_a_guide_is_only_as_good_as_the_adversary_that_it_is_taken_from(jsd: float, status: str, said: str) -> None:
    """λ = 0.001 on IMDb: theirs has a JSD of .615 (Table 5)."""
    ours = {("imdb_jw", MODEL): {0: guided(jsd)}}
    compared = {
        c.theirs.variant: c for c in compare("wiegreffe2019", ours, {}) if c.ours and c.theirs.table == "Table 3"
    }
    assert compared["guide: adversary"].status == status
    assert compared["guide: base LSTM"].status == "within"
    directions = {d.says: d for d in find_study("wiegreffe2019").directions if "guide" in d.says}
    lookup = estimates(pool(MODEL, {0: guided(jsd)}))
    printed = printed_by("wiegreffe2019", "imdb_jw")
    found = {r.says: r for r in examine(directions.values(), "imdb_jw", MODEL, lookup, printed, paper="wiegreffe2019")}[
        "the base LSTM's weights are better guides than an adversary's"
    ]
    assert found.replicated == said
    reason = (
        "the adversary (lambda=0.001) is not far from the base, where theirs is: mean JSD 0.27, at least 0.4 is needed"
    )
    assert [compared["guide: adversary"].reason, found.decides] == ([reason] * 2 if jsd < 0.4 else ["", ""])


def test_the_adversary_that_guides_is_the_studys() -> None:
    [borrowed] = [one for one in BORROWED if one.paper == "wiegreffe2019"]
    studies = [with_budget(find_study(borrowed.paper), budget) for budget in ("quick", "standard", "paper")]
    settings = [one for study in studies for one in (study.experiments, *study.experiments_on.values())]
    guides = [one["guides"] for one in settings if one.get("guides")]
    strengths = {guide["strength"] for guide in guides if "strength" in guide}
    assert {variant_name(f"adversary, lambda={strength}") for strength in strengths} == {borrowed.distance[1]}
    assert {cell.corpus for cell in published(borrowed.paper) if cell.variant == borrowed.variant} <= {
        cell.corpus
        for cell in published(borrowed.paper)
        if (cell.table, (cell.model, variant_name(cell.variant), cell.measure)) == (borrowed.table, borrowed.distance)
    }


def test_the_adversary_whose_information_is_counted_is_the_studys() -> None:
    study = find_study("wen2022")
    given = {corpus: found.get("informed-adversary") for corpus, found in study.experiments_on.items()}
    on = {corpus: settings["strength"] for corpus, settings in given.items() if settings}
    informed = [one for one in published("wen2022") if one.variant == "adversary" and one.corpus in on]
    assert len(informed) == 4
    for cell in informed:
        variant = variant_name(f"adversary, lambda={on[cell.corpus]}")
        place = (cell.model, cell.variant, cell.measure)
        printed = in_table("wen2022", cell.corpus, "Table 3")
        borrowed = [place for table, place in distances("wen2022", cell.table, place) if table == "Table 3"]
        assert [one for one in borrowed if one in printed] == [(cell.model, variant, "jsd")]


@pytest.mark.parametrize(("jsd", "status"), [(0.2, "not comparable"), (0.45, "within")])
def test_information_of_an_adversary_that_stays_near_does_not_count(jsd: float, status: str) -> None:
    cells = [
        Cell("adversary, lambda=8e-4", "jsd", jsd, jsd - 0.01, jsd + 0.01),
        Cell("adversary", "delta weighted tau", 0.1, 0.0, 0.2),
    ]
    compared = compare("wen2022", {("imdb_jw", MODEL): {0: cells}}, find_study("wen2022").tolerances)
    assert [one.status for one in compared if one.theirs.table == "Table 4" and one.ours] == [status]


def test_a_convention_may_be_of_one_measure() -> None:
    cells = [Cell("adversary, lambda=5e-4", measure, 0.0, 0.0, 0.0) for measure in ("f1", "tvd", "jsd")]
    compared = compare("wiegreffe2019", {("sst_jw", MODEL): {0: cells}}, find_study("wiegreffe2019").tolerances)
    found = {one.theirs.measure: one.convention for one in compared if one.ours and one.theirs.table == "Table 5"}
    assert found == {"f1": 0.03, "tvd": 0.03, "jsd": 0.1}


def test_classes_of_snli_are_ours_however_the_paper_numbers_them() -> None:
    """Class 0 of Jain & Wallace's data has as many test pairs as SNLI has neutral ones (Wen et al. 2022, Table 1)."""
    pairs = {"entailment": 3368, "neutral": 3219, "contradiction": 3237}  # of SNLI's test set
    counted = {
        cell.variant.removeprefix("test, "): cell.value
        for cell in published("wen2022")
        if cell.corpus == "snli" and cell.variant.startswith("test, ")
    }
    counts = [pairs[name] for name in NLI]
    for cell in published("jain2019"):
        if cell.corpus == "snli":
            _, printed = cell.note.rsplit("printed as ", 1)
            assert counted[printed[: len("class 0")]] == counts[int(cell.variant.removeprefix("class "))]


def test_distances_that_a_rule_asks_about_are_kept() -> None:
    cell = Cell("adversary, lambda=0.001", "jsd", 0.3, 0.2, 0.4)
    guide = {("average+additive", "guide: adversary", "f1")}
    assert is_wanted("wiegreffe2019", guide, MODEL, cell)
    assert not is_wanted("wiegreffe2019", guide, "average+additive", cell)
    assert not is_wanted("jain2019", guide, MODEL, cell)


@pytest.mark.parametrize("paper", PAPERS)
def test_what_a_direction_claims_is_what_the_paper_prints(paper: str) -> None:
    """Theirs, where the table that is named has both sides, is above 0."""
    study = find_study(paper)
    told = []
    for corpus in study.corpora:
        here = replace(study, corpora=(corpus,))
        claimed = [one for one in study.directions if one.is_about(corpus, task_of(corpus))]
        nothing = of_cells({})
        told += examine(claimed, corpus, first_model(here), nothing, printed_by(paper, corpus), paper=paper)
    printed = [one for one in told if one.theirs is not None and not math.isnan(one.theirs)]
    assert [(one.corpus, one.says) for one in printed if one.theirs is None or one.theirs <= 1e-9] == []
    assert printed


def theirs(paper: str, corpus: str, says: str) -> float | None:
    [direction] = [one for one in find_study(paper).directions if one.says == says and one.is_about(corpus, "single")]
    [found] = examine([direction], corpus, "", of_cells({}), printed_by(paper, corpus), paper=paper)
    return found.theirs


HEAVIEST = "removing the heaviest item flips more decisions than removing a random one"
FROZEN = "a frozen adversary of the Transformer loses accuracy"
UNFROZEN = "an unfrozen adversary of the Transformer loses less than 0.03 in accuracy"
HAN = "single texts do not fall apart (HAN): shuffled weights at inference cost less than 10 points of accuracy"


@pytest.mark.parametrize(
    ("paper", "corpus", "says", "value"),
    [
        ("serrano2019", "yelp_stars_sample", HEAVIEST, 8.9 - 1.9),
        ("meister2021", "imdb_jw", FROZEN, 0.18),
        ("meister2021", "sst_jw", UNFROZEN, -0.01 + 0.03),
        ("vashishth2019", "sst_jw", HAN, -1.8 + 10),
    ],
)
def test_directions_of_other_models_and_papers(paper: str, corpus: str, says: str, value: float) -> None:
    assert theirs(paper, corpus, says) == pytest.approx(value)


def test_directions_of_serrano_and_smith_are_about_comparable_data_alone() -> None:
    directions = find_study("serrano2019").directions
    assert [
        corpus for d in directions for corpus in find_study("serrano2019").corpora if d.is_about(corpus, "single")
    ] == ["yelp_stars_sample"]


@pytest.mark.parametrize(("ours", "status"), [(4.5, "within"), (5.2, "outside")])
def test_means_over_a_table_can_fail(ours: float, status: str) -> None:
    """Vashishth et al. §4.1: a decrease of 3.9 points with uniform weights at inference."""
    cells = [Cell("uniform, inferred", "accuracy decrease %", ours, NAN, NAN)]
    tolerances = find_study("vashishth2019").tolerances
    [found] = [c for c in compare("vashishth2019", {("all single sequence", "all"): {0: cells}}, tolerances) if c.ours]
    assert found.tolerance is not None
    assert found.tolerance.value == pytest.approx(1.0)
    assert found.status == status
