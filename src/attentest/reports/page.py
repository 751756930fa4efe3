"""A report as one HTML page that needs nothing else."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from attentest.reports.contents import Report
from attentest.reports.parts import formatting, heatmap_blocks, verdict_picture
from attentest.reports.parts.bundle import bundle
from attentest.reports.parts.islands import code, fingerprint, island
from attentest.reports.parts.modules import joined
from attentest.reports.parts.outline import Outline
from attentest.version import __version__

# what runs before the page is drawn, and what runs when it is there
EARLY = ("theme.js",)
LATE = ("csv.js", "tables.js", "tabs.js", "charts.js", "paint.js", "heatmaps.js", "report.js")
STYLES = ("report.css", "first.css", "verdicts.css", "charts.css", "heatmaps.css", "narrow.css", "print.css")


def render(report: Report) -> str:
    outline = Outline(report)
    late = [bundle()] if outline.has_charts else []
    scripts = {"early": [_script(*EARLY)], "late": [*late, _script(*LATE)]}
    page: str = (
        _environment()
        .get_template("page.html")
        .render(
            report=report,
            outline=outline,
            scripts={place: [Markup(text) for text in texts] for place, texts in scripts.items()},
            style=Markup("\n".join(map(asset, STYLES))),
            policy=_policy([*scripts["early"], *scripts["late"]]),
            version=__version__,
        )
    )
    return page


def _policy(scripts: list[str]) -> str:
    """Nothing is fetched, and no script runs but ours."""
    ours = " ".join(map(fingerprint, scripts))
    return (
        f"default-src 'none'; script-src {ours}; style-src 'unsafe-inline'; img-src data: blob:; "
        "base-uri 'none'; form-action 'none'"
    )


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("attentest.reports", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "shown": formatting.shown,
        "prose": formatting.prose,
        "name": formatting.name,
        "number": formatting.number,
        "exact": formatting.exact,
        "estimate": formatting.estimate,
        "path": formatting.path,
        "flat": formatting.flat,
        "island": island,
        "figure_line": verdict_picture.picture_of,
    }
    environment.globals |= {
        "interval": formatting.interval,
        "heat_legend": heatmap_blocks.legend(),
        "picture_legend": verdict_picture.legend(),
    }
    return environment


def _script(*names: str) -> str:
    return str(code(f'"use strict";\n(() => {{\n{joined(*map(asset, names))}}})();'))


@cache
def asset(name: str) -> str:
    folder: Any = files("attentest.reports") / "assets"
    return str((folder / name).read_text(encoding="utf-8"))
