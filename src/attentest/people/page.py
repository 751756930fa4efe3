"""A report of a study with people as one HTML page, in the style of the other reports; no script, nothing fetched."""

from __future__ import annotations

from html import escape
from importlib.resources import files

from attentest.display.tables import html_table
from attentest.people.report import QUESTION, PeopleReport
from attentest.people.report_tables import tables_of

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def page_of(report: PeopleReport) -> str:
    style = (files("attentest.reports") / "assets" / "report.css").read_text(encoding="utf-8")
    sections = "\n".join(
        f"<section><h2>{escape(one.title)}</h2>{html_table(one.header, one.rows)}<p>{escape(one.caption)}</p></section>"
        for one in tables_of(report)
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(QUESTION)}</title><style>{style}</style></head>\n"
        f"<body><main><h1>{escape(QUESTION)}</h1><p>{escape(report.answer)}</p>\n{sections}\n</main></body></html>\n"
    )
