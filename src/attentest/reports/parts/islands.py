"""JSON and code inside a page, where no text may end its element early."""

from __future__ import annotations

import base64
import hashlib
import json
import math
import re
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup


def island(value: Any) -> Markup:
    """JSON for a script element: `<` is written as an escape, and what JSON has no word for is null."""
    text = json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    # a lone surrogate cannot be written to a file
    safe = re.sub("[<\u2028\u2029\ud800-\udfff]", lambda found: f"\\u{ord(found.group()):04x}", text)
    return Markup(safe)


def code(text: str) -> Markup:
    """JavaScript for a script element; inside strings `<\\/script` is the same as `</script`."""
    return Markup(re.sub(r"<(/script|!--)", r"<\\\1", text, flags=re.IGNORECASE))


def fingerprint(script: str) -> str:
    """What a content security policy knows a script by: no other script runs."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() + "'"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, str | int):
        return value
    return _plain(value.item()) if hasattr(value, "item") else str(value)
