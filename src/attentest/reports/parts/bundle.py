"""The libraries that draw charts in the browser, as one script."""

from __future__ import annotations

import hashlib
import os
from functools import cache
from importlib.metadata import version
from pathlib import Path

from attentest.errors import InputError
from attentest.files import write_bytes
from attentest.reports.parts.islands import code

_OURS = "window.vegaEmbed = vegaEmbed;"  # what our own scripts see of it
# in a function, so that its hundreds of names stay out of ours; what Vega only warns of is no news to a reader
_WRAPPED = "(console => {{{}\n}})({{ ...console, warn() {{}}, info() {{}}, debug() {{}} }});"


@cache
def bundle() -> str:
    """Vega, Vega-Lite and Vega-Embed; made once for each version of vl-convert, and kept where it can be."""
    made_of = hashlib.sha256((_OURS + _WRAPPED).encode()).hexdigest()[:8]
    kept = _folder() / f"vega-{version('vl-convert-python')}-{made_of}.js"
    try:
        return kept.read_text(encoding="utf-8")
    except OSError:
        script = _make()
    try:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(kept, script.encode())
    except (OSError, InputError):  # there is no place to keep it
        pass
    return script


def _make() -> str:
    import vl_convert

    return str(code(_WRAPPED.format(vl_convert.javascript_bundle(_OURS))))


def _folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "attentest"
