"""Answers as a table: what holds now, one row for each annotator and item."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

UNKNOWN_TIME = -1  # as the database has it

ANSWER_SCHEMA = pa.schema(
    {
        "annotator": pa.string(),
        "item": pa.string(),
        "relevant": pa.bool_(),
        "highlighted": pa.list_(pa.int32()),  # numbers of words; null if it was not asked
        "confidence": pa.int8(),  # from 1 to 5; null if it was not asked
        "comment": pa.string(),
        "milliseconds": pa.int64(),  # time on the item; UNKNOWN_TIME, or null, if nobody measured it
        "at": pa.timestamp("ms", "UTC"),
    }
)


def with_known_times(table: pa.Table) -> pa.Table:
    """An unknown time as null, so that nobody counts with it."""
    place = table.schema.get_field_index("milliseconds")
    times = table["milliseconds"]
    known = pc.if_else(pc.greater_equal(times, 0), times, pa.scalar(None, times.type))
    return table.set_column(place, table.schema.field(place), known)
