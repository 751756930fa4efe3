"""The order of a page: its blocks, sections, figures and texts, each with an id of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from attentest.reports.contents import Block, Figure, Report, Section
from attentest.reports.parts import heatmap_blocks, translation_blocks
from attentest.reports.parts.chart import packed
from attentest.reports.parts.formatting import Anchors
from attentest.reports.parts.picture import inline
from attentest.reports.summary_text import models_of
from attentest.studies.verdict import Ruling
from attentest.trials.charts.data import table_of

FIXED = (  # anchors of the parts that a page has once
    *("content", "contents", "verdicts", "notes", "differences"),
    *("directions", "published", "not-covered", "overview"),
)
MOST_ROWS = 200  # of a chart's data
FIRST_ROWS = 8  # of a summary; the rest is folded away


@dataclass(frozen=True)
class ChartPart:
    anchor: str
    figure: Figure
    picture: Markup
    spec: Mapping[str, Any]

    @property
    def data(self) -> tuple[list[str], list[list[Any]], int]:
        """What stands for a picture that could not be drawn: heads and first rows of its data, and how many it has."""
        head, rows = table_of(self.figure.spec)
        return head, rows[:MOST_ROWS], len(rows)


@dataclass(frozen=True)
class SectionPart:
    anchor: str
    section: Section
    charts: Sequence[ChartPart]

    @property
    def rows(self) -> tuple[list[tuple[str, Any]], list[tuple[str, Any]]]:
        """The first numbers, and the rest."""
        rows = list(self.section.summary.items())
        first = len(rows) if len(rows) <= FIRST_ROWS + 2 else FIRST_ROWS
        return rows[:first], rows[first:]


@dataclass(frozen=True)
class BlockPart:
    anchor: str
    verdicts_anchor: str
    heat_anchor: str
    tests: Mapping[str, str]  # definition -> anchor of its tests
    block: Block
    sections: Sequence[SectionPart]
    texts: Sequence[heatmap_blocks.Text]
    sentences: Sequence[translation_blocks.SentencePart]

    @property
    def weights(self) -> dict[str, Any]:
        return heatmap_blocks.island(self.texts)

    @property
    def has_adversaries(self) -> bool:
        return any(text.adversary is not None for text in self.texts)

    @property
    def has_permutations(self) -> bool:
        return any(text.permutation is not None for text in self.texts)

    @property
    def has_labels(self) -> bool:
        return any(text.label is not None for text in self.texts)

    def section_of(self, ruling: Ruling) -> str | None:
        """The anchor of the section that a ruling's figure comes from."""
        wanted = (ruling.criterion.kind, ruling.criterion.trial)
        return next((part.anchor for part in self.sections if (part.section.kind, part.section.name) == wanted), None)


class Outline:
    def __init__(self, report: Report) -> None:
        self._anchors = Anchors()
        self._pictures = 0
        for fixed in FIXED:
            self._anchors.take(fixed)
        self.charts = self._charts(report.figures, "overview")
        self.blocks = [self._block(block) for block in report.blocks]
        self.judged = [part for part in self.blocks if part.block.verdicts]
        self.first = self.judged[0].block.first if len(self.judged) == 1 else None  # of several, each has its own
        self.compared = [block.name for block in models_of(report.blocks) if block.verdicts]
        self.has_charts = bool(self.charts) or any(part.charts for block in self.blocks for part in block.sections)

    def _block(self, block: Block) -> BlockPart:
        anchor = self._anchors.take(block.anchor or block.name)
        sections = [self._section(section, anchor) for section in block.sections]
        verdicts, texts = self._anchors.take(f"{anchor}-verdicts"), self._anchors.take(f"{anchor}-heat-maps")
        names = (verdict.definition.name for verdict in block.verdicts)
        tests = {name: self._anchors.take(f"{anchor}-tests-{name}") for name in names}
        sentences = [translation_blocks.part_of(sentence) for sentence in block.sentences]
        shown = heatmap_blocks.texts(block.instances)
        return BlockPart(anchor, verdicts, texts, tests, block, sections, shown, sentences)

    def _section(self, section: Section, block: str) -> SectionPart:
        anchor = self._anchors.take(section.anchor or f"{block}-{section.name}")
        return SectionPart(anchor, section, self._charts(section.figures, anchor))

    def _charts(self, figures: Sequence[Figure], owner: str) -> list[ChartPart]:
        parts = []
        for i, figure in enumerate(figures, start=1):
            anchor = self._anchors.take(f"{owner}-figure-{i}")
            label = f"{figure.title}. {figure.description}"
            self._pictures += 1  # no anchor has the underscore that the ids within a picture have
            picture = inline(figure.svg, label, f"p{self._pictures}")
            parts.append(ChartPart(anchor, figure, picture, packed(figure.spec)))
        return parts
