"""Figures in the papers' forms, as Vega-Lite specifications that stay small however many texts there are."""

from attentest.trials.charts.agreement import agreement
from attentest.trials.charts.bars import bars, bars_in_groups
from attentest.trials.charts.boxes import box, boxes
from attentest.trials.charts.classes import ClassGroup, class_groups, distinct
from attentest.trials.charts.cross_table import cross_table
from attentest.trials.charts.frame import PALETTE
from attentest.trials.charts.histograms import histograms
from attentest.trials.charts.intervals import interval, intervals
from attentest.trials.charts.lines import lines
from attentest.trials.charts.ranks import by_rank
from attentest.trials.charts.scatter import scatter
from attentest.trials.charts.tradeoff import tradeoff
from attentest.trials.charts.violins import violins_by_bin

__all__ = [
    "PALETTE",
    "ClassGroup",
    "agreement",
    "bars",
    "bars_in_groups",
    "box",
    "boxes",
    "by_rank",
    "class_groups",
    "cross_table",
    "distinct",
    "histograms",
    "interval",
    "intervals",
    "lines",
    "scatter",
    "tradeoff",
    "violins_by_bin",
]
