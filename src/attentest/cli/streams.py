"""Standard output and error as the program finds them: closed, full, in any encoding, or with a reader that left."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import open as open_descriptor
from typing import Any

from attentest.display.heatmaps.text import escaped, one_line

LONGEST = 3000  # characters of a message
READER_LEFT = 141  # what a shell reports of a program that wrote to a pipe that nobody reads (128 + SIGPIPE)


class OutputLostError(Exception):
    """Standard output takes nothing any more."""


@contextmanager
def guarded() -> Iterator[None]:
    """Streams that fail with a message, not with a trace: exit code 2 for a full device, 141 if the reader left.

    Standard error is for messages and progress alone, so the work goes on without it.
    """
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = _Output(before[0]), _Messages(before[1])
    try:
        try:
            yield
        finally:
            sys.stderr.flush()
            sys.stdout.flush()
    except OutputLostError as lost:
        error = lost.__cause__
        if isinstance(error, BrokenPipeError):
            raise SystemExit(READER_LEFT) from None
        complain(f"The output cannot be written: {getattr(error, 'strerror', None) or error}.")
        raise SystemExit(2) from None
    finally:
        sys.stdout, sys.stderr = before


def say(*lines: object) -> None:
    """Print lines of text; whatever steers a terminal or breaks a line is shown as a symbol."""
    for line in lines:
        print(one_line(str(line)))


def say_json(content: Any) -> None:
    """Print one JSON object in one line."""
    from attentest.files import without_nan

    print(escaped(json.dumps(without_nan(content), ensure_ascii=False)))


def complain(message: str) -> None:
    """A message of one line on standard error."""
    line = one_line(message)
    print(f"attentest: {line if len(line) <= LONGEST else line[:LONGEST] + '…'}", file=sys.stderr)


class _Stream:
    """A text stream that says what happens when it cannot be written."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        with suppress(AttributeError):  # what stands in for a stream in a notebook or a test
            # a terminal that cannot write √ or an emoji gets a ? for it
            stream.reconfigure(errors="replace")

    def write(self, text: str) -> int:
        try:
            return int(self._stream.write(text))
        except OSError as error:
            self._lost(error)
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError as error:
            self._lost(error)

    def _lost(self, error: OSError) -> None:
        """What is still in its buffer goes nowhere: Python would try to write it once more at its end."""
        with suppress(OSError, ValueError):
            nowhere = open_descriptor(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._stream.fileno())
            os.close(nowhere)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class _Output(_Stream):
    def _lost(self, error: OSError) -> None:
        super()._lost(error)
        raise OutputLostError from error


class _Messages(_Stream):
    pass
