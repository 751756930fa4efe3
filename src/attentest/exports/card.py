"""A section of a Hugging Face model card: metadata in its model-index format, and the verdicts in Markdown."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import yaml

from attentest.display.heatmaps.text import one_line
from attentest.reports.contents import Block, Report
from attentest.studies.verdict import Ruling, Verdict, calibration

_SCORES = ("accuracy", "f1")  # of the model, as the Hub names them
# what may begin or end markup; points and signs between digits are left alone, so that numbers stay readable
_MARKUP = re.compile(r"[\\`*_\[\]<>|~&$#@:=^{}]|(?<!\d)\.|\.(?!\d)|(?<=\d)\)|^[-+]")
_HEAD = (
    *("attention is …", "answer", "decided by", "figure [95 % interval]", "texts", "threshold"),
    *("references", "controls", "error rates"),
)
_NONE = "–"
_READING = (
    "*yes* and *no* mean that the whole 95 % interval of the deciding figure meets or fails its threshold; *unclear*, "
    "that the interval includes it or that no test tells the controls apart; *not tested*, that there is no figure; "
    "*does not apply*, that the definition is not about such models.",
    "Each verdict is about one definition of explanation and one corpus. A *yes* under one definition says nothing "
    "about the others.",
    "References are from the same run: the *null* is what attention that tells nothing gets, the *ceiling* what other "
    "measures of importance reach among themselves. Controls are models of known truth: a positive one whose attention "
    "is an explanation, and negative ones whose attention is not.",
    "Error rates were measured on models of known truth whose architectures were not used to set the threshold.",
    "The scores in the metadata are self-reported.",
)


def card(report: Report, blocks: Sequence[Block]) -> str:
    index = [{"name": one_line(block.name), "results": [_result(block)]} for block in blocks]
    front = yaml.safe_dump({"model-index": index}, allow_unicode=True, sort_keys=False, width=math.inf)
    parts = ["## Can the attention be trusted as an explanation?", _plain(report.lead)]
    for block in blocks:
        if len(blocks) > 1:
            parts.append(f"### {_foreign(block.name)}")
        parts += [_table(block.verdicts), "What the verdicts mean:", _list(map(_meaning, block.verdicts))]
        parts += ["How the model was made:", _list(_facts(block.facts))]
    parts += ["### How the verdicts were made", _list(_made(report, blocks))]
    parts += ["### How to read this section", _list(_READING)]
    return f"---\n{front}---\n\n" + "\n\n".join(parts) + "\n"


def _result(block: Block) -> dict[str, Any]:
    about = block.about
    made = about.settings if about is not None else None
    corpus = one_line(about.corpus if about is not None else block.name)
    dataset = {"name": corpus, "type": corpus, "split": "test"}
    if made is not None:
        dataset["revision"] = made.corpus.fingerprint
    scores = [_metric(name, name, about.metrics.get(name)) for name in _SCORES] if about is not None else []
    figures = [_figure(verdict) for verdict in block.verdicts]
    return {
        "task": {"type": "text-classification", "name": "Text Classification"},
        "dataset": dataset,
        "metrics": [metric for metric in (*scores, *figures) if metric is not None],
    }


def _metric(kind: str, name: str, value: float | None, **more: Any) -> dict[str, Any] | None:
    if value is None or not math.isfinite(value):
        return None
    return {"type": kind, "value": _rounded(value), "name": name, **more, "verified": False}


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def _figure(verdict: Verdict) -> dict[str, Any] | None:
    ruling = verdict.deciding
    if ruling is None or ruling.figure is None:
        return None
    name = f"attention {verdict.definition.name} ({ruling.criterion.short})"
    known = {"low": ruling.figure.low, "high": ruling.figure.high, "threshold": ruling.threshold}
    args = {
        "answer": verdict.answer,
        **{key: _rounded(value) for key, value in known.items() if math.isfinite(value)},
        "side": ruling.criterion.side,
        "texts": ruling.figure.n,
    }
    return _metric(ruling.criterion.name, name, ruling.figure.value, args=args)


def _table(verdicts: Sequence[Verdict]) -> str:
    lines = [_HEAD, ["---"] * len(_HEAD), *map(_row, verdicts)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _row(verdict: Verdict) -> list[str]:
    first = [f"**{verdict.definition.name}**", verdict.answer]
    ruling = verdict.deciding
    if ruling is None or ruling.figure is None:
        return [*first, *[_NONE] * (len(_HEAD) - len(first))]
    return [
        *first,
        f"{_plain(ruling.criterion.says)} (`{ruling.criterion.name}`)",
        str(ruling.figure),
        f"{ruling.figure.n:,}",
        f"{ruling.criterion.side} {ruling.threshold:g}",
        _figures({"null": ruling.null, "ceiling": ruling.ceiling}),
        _figures(ruling.controls),
        _rates(ruling),
    ]


def _figures(figures: Mapping[str, Any]) -> str:
    return ", ".join(f"{_foreign(name)} {figure}" for name, figure in figures.items() if figure is not None) or _NONE


def _rates(ruling: Ruling) -> str:
    if ruling.criterion.role == "defines":
        return "those of its interval: the definition is this figure"
    if ruling.rates is None:
        return "not known"
    return f"{ruling.rates.right} ({ruling.rates.models:,} models, {ruling.rates.texts:,} texts)"


def _meaning(verdict: Verdict) -> str:
    definition, ruling = verdict.definition, verdict.deciding
    source = "" if ruling is None else f" Source of the threshold: {ruling.source}."
    little = "" if verdict.of_consequence else " Of little consequence, as this attention is neither used nor needed."
    return _plain(
        f"**{definition.name}** means: {definition.means} Verdict: {verdict.answer}. "
        f"{verdict.confidence}{source}{little} "
        f"Caveat: {definition.caveat} ({definition.paper})"
    )


def _made(report: Report, blocks: Sequence[Block]) -> Iterable[str]:
    sections = [section for block in blocks for section in block.sections]
    versions = sorted({str(section.signature["attentest"]) for section in sections if "attentest" in section.signature})
    controls = any(ruling.controls for block in blocks for verdict in block.verdicts for ruling in verdict.rulings)
    yield from _facts([(f"judged by {name}" if name == "attentest" else name, said) for name, said in report.facts])
    yield from _facts([("figures computed by attentest", ", ".join(versions))])
    yield f"controls: {'trained on the same corpus' if controls else 'none'}"
    yield from _facts([(f"calibration, {name}", str(said)) for name, said in calibration().signature.items()])
    yield from map(_foreign, report.notes)


def _facts(facts: Iterable[tuple[str, str]]) -> Iterable[str]:
    return (f"{_plain(name)}: {_foreign(said)}" for name, said in facts if said)


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _plain(text: str) -> str:
    """Our own sentences: only what would end a cell of a table is escaped."""
    return one_line(text).replace("|", "\\|").replace("<", "&lt;")


def _foreign(text: str) -> str:
    """Names of corpora and classes are anybody's: no mark of them counts as Markdown or HTML."""
    return _MARKUP.sub(r"\\\g<0>", one_line(text).strip())
