"""Answers as a table: what holds now, one row for each annotator and item."""

from __future__ import annotations

import pyarrow as pa

ANSWER_SCHEMA = pa.schema(
    {
        "annotator": pa.string(),
        "item": pa.string(),
        "relevant": pa.bool_(),
        "highlighted": pa.list_(pa.int32()),  # numbers of words; null if it was not asked
        "confidence": pa.int8(),  # from 1 to 5; null if it was not asked
        "comment": pa.string(),
        "milliseconds": pa.int64(),  # time on the item
        "at": pa.timestamp("ms", "UTC"),
    }
)
