"""The picture of a deciding figure: every mark stands where its number says, and its words have the same numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from xml.etree import ElementTree

import pytest
from sample_report import ALERT

from attentest.measures.intervals import Estimate
from attentest.reports.parts.verdict_picture import HEIGHT, MARGIN, WIDTH, described, legend, line_of, picture_of
from attentest.studies.verdict import CRITERIA, Ruling

NAN = math.nan
AT_LEAST, AT_MOST = CRITERIA["used.decisions"], CRITERIA["exclusive.texts"]


def of(value: float, half: float = 0.1) -> Estimate:
    return Estimate(value, value - half, value + half, 100)


RULING = Ruling(
    AT_LEAST,
    0.5,
    "",
    of(0.3),
    "no",
    "",
    null=of(0.1),
    ceiling=of(0.8),
    controls={"positive": of(0.9), "null": of(0.05, 0.01), "deceptive": of(-0.25, 0.0)},
)


def marks(ruling: Ruling) -> dict[str, list[float]]:
    """Kind of a mark -> where its middle or its ends are."""
    found: dict[str, list[float]] = {}
    for node in ElementTree.fromstring(str(picture_of(ruling))).iter():
        kind = node.get("class", "")
        if node.tag == "circle":
            found.setdefault(kind, []).append(float(node.attrib["cx"]))
        elif node.tag == "line":
            found.setdefault(f"{kind} line", []).extend([float(node.attrib["x1"]), float(node.attrib["x2"])])
        elif node.tag == "rect":
            left = float(node.attrib["x"])
            found.setdefault(kind, []).extend([left, left + float(node.attrib["width"])])
        elif node.tag == "path":
            places = [float(part.split(",")[0]) for part in node.attrib["d"].replace("M", "L").split("L") if part]
            found.setdefault(kind, []).append((min(places) + max(places)) / 2)
    return found


def test_marks_stand_where_their_numbers_say() -> None:
    """The line reaches from −0.25, the least of all numbers, to 1, as the largest is above 0.5."""

    def x(value: float) -> float:
        return round(MARGIN + (WIDTH - 2 * MARGIN) * (value + 0.25) / 1.25, 1)

    assert marks(RULING) == {
        "meets": [pytest.approx(x(0.5)), pytest.approx(x(1.0))],
        "axis line": [x(-0.25), x(1.0)],
        "threshold line": [x(0.5), x(0.5)],
        "null": [x(0.1)],
        "ceiling": [pytest.approx(x(0.8))],
        "positive": [pytest.approx(x(0.9))],
        "negative": [pytest.approx(x(0.05), abs=0.06), pytest.approx(x(-0.25), abs=0.06)],
        "own line": [x(0.2), x(0.4)],
        "own": [x(0.3)],
    }


def test_the_shaded_side_is_the_one_that_meets_the_threshold() -> None:
    below = marks(replace(RULING, criterion=AT_MOST))
    assert below["meets"][0] == MARGIN
    assert below["meets"][1] == pytest.approx(below["threshold line"][0])


@pytest.mark.parametrize(("criterion", "figure"), [(AT_LEAST, of(0.001, 0.001)), (AT_MOST, of(0.04, 0.01))])
def test_there_is_room_beyond_a_threshold_at_the_end(criterion: object, figure: Estimate) -> None:
    bare = Ruling(criterion, 0.02 if criterion is AT_LEAST else 0.0, "", figure, "no", "")  # type: ignore[arg-type]
    left, right = marks(bare)["meets"]
    assert right - left > 20
    assert {"own", "axis line", "threshold line"} < set(marks(bare))
    assert "null" not in marks(bare)


def test_it_is_read_out_as_its_numbers() -> None:
    said = (
        "decisions 0.300 [0.200, 0.400]; threshold at least 0.5; null 0.100; ceiling 0.800; positive control 0.900; "
        "null control 0.050; deceptive control −0.250"
    )
    assert described(RULING) == said
    root = ElementTree.fromstring(str(picture_of(RULING)))
    assert (root.get("role"), root.get("aria-label")) == ("img", said)
    titles = [node.text for node in root.iter("title")]
    assert "this model 0.300 [0.200, 0.400]" in titles
    assert "deceptive control −0.250 [−0.250, −0.250]" in titles


def test_marks_differ_in_shape_and_the_legend_has_all_of_them() -> None:
    signs = [ElementTree.fromstring(str(sign)) for sign, _ in legend()]
    assert len({ElementTree.tostring(sign) for sign in signs}) == len(signs)
    kinds = {node.get("class") for sign in signs for node in sign.iter()}
    drawn = {node.get("class") for node in ElementTree.fromstring(str(picture_of(RULING))).iter()}
    assert drawn - {None, "axis"} <= kinds


@pytest.mark.parametrize(
    "figure",
    [None, of(NAN), Estimate(math.inf, 0.0, 1.0, 9), Estimate(1e300, -1e300, 1e308, 9)],
)
def test_what_cannot_be_drawn_is_left_out(figure: Estimate | None) -> None:
    assert picture_of(replace(RULING, figure=figure)) == ""


def test_ends_that_are_not_defined_have_no_mark() -> None:
    alone = replace(RULING, figure=Estimate(0.3, NAN, math.inf, 1), null=of(NAN), controls={"positive": of(NAN)})
    assert set(marks(alone)) == {"meets", "axis line", "threshold line", "ceiling", "own"}


@pytest.mark.parametrize("value", [0.0, -3.5, 250.0, 1e8])
def test_all_marks_are_within_the_picture(value: float) -> None:
    ruling = replace(RULING, figure=of(value), threshold=value)
    places = [place for found in marks(ruling).values() for place in found]
    assert min(places) >= MARGIN - 0.1
    assert max(places) <= WIDTH - MARGIN + 0.1
    line = line_of(ruling)
    assert line is not None
    assert line.low <= 0 <= line.high
    assert HEIGHT < 60


def test_names_of_controls_are_text() -> None:
    made = str(picture_of(replace(RULING, controls={ALERT: of(0.2), '" onload="alert(1)': of(0.3)})))
    root = ElementTree.fromstring(made)
    assert "<script" not in made
    assert not [name for node in root.iter() for name in node.attrib if name.startswith("on")]
    assert any(ALERT[:20] in (node.text or "") for node in root.iter("title"))
