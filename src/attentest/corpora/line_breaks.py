"""HTML line breaks, which film reviews are full of, as newlines."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

PATTERN = r"(<br\s*/?>\s*)+"


def break_lines(texts: pa.ChunkedArray) -> pa.ChunkedArray:
    return pc.replace_substring_regex(texts, PATTERN, "\n")
