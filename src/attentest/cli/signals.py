"""Ctrl-C, SIGTERM and SIGHUP end the program within two seconds, with one line and the exit code 128 + signal.

Python calls a handler between two of its own instructions, so never during a long call into a library, and what the
handler raises can be swallowed on its way up. So a thread hears of the signal, too, and ends the program if it is still
there after a while. This module imports nothing that takes time: it is ready before the rest is imported.
"""

from __future__ import annotations

import atexit
import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType

SENTENCES = {"SIGINT": "Interrupted.", "SIGTERM": "Terminated.", "SIGHUP": "The terminal was closed."}
NUMBERS = [signal.Signals[name] for name in SENTENCES if hasattr(signal, name)]
CLOSING = 0.5  # seconds in which what is still open then may be closed
GRACE = 1.2  # seconds in which the program may end by itself: workers, drafts, progress bars


class StoppedError(BaseException):
    """Raised wherever the program is; not a KeyboardInterrupt, for which typer has a message and a code of its own."""


_received: list[int] = []
_leaving = threading.Lock()
_advice: list[str] = []
_closing: list[Callable[[], None]] = []


def install() -> None:
    """From now on these signals end the program, except those it was started to ignore, as nohup does."""
    if not hasattr(signal, "SIGHUP"):
        return  # Windows has no such signals; Python's own handler is for Ctrl-C
    sys.excepthook = _uncaught
    sys.unraisablehook = _unraisable
    atexit.register(_at_exit)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(reader,), daemon=True).start()
    for number in NUMBERS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def advise(sentence: str) -> None:
    """What the user is told besides, if the program is stopped from here on."""
    _advice[:] = [sentence]


@contextmanager
def closed_at_end(close: Callable[[], None]) -> Iterator[None]:
    """Close something also if a library swallows the signal, as event loops do with what is raised in a callback."""
    _closing.append(close)
    try:
        yield
    finally:
        close()
        _closing.remove(close)


def _stop(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    if len(_received) > 1:  # a second Ctrl-C changes nothing: the end is near
        return
    if _is_import(frame):  # what is raised in a library that is half imported may take the process down
        _leave(number)
    raise StoppedError


def _is_import(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            return True
        frame = frame.f_back
    return False


def _watch(pipe: int) -> None:
    """In a thread: hears of signals also while the main thread is in a library."""
    while (number := os.read(pipe, 1)[0]) not in NUMBERS:
        pass
    time.sleep(GRACE)
    _leave(number)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    if _received or issubclass(kind, KeyboardInterrupt):  # also what a library made of it, such as an ImportError
        _leave(_received[0] if _received else signal.SIGINT)
    sys.__excepthook__(kind, error, trace)


def _unraisable(what: sys.UnraisableHookArgs) -> None:
    """In a finaliser or a callback, where it would be lost."""
    _at_exit()
    sys.__unraisablehook__(what)


def _at_exit() -> None:
    if _received:
        _leave(_received[0])


def _leave(number: int) -> None:
    """The end, at once; whoever comes second waits for it."""
    _leaving.acquire()
    try:
        _kill_workers()
        _close_all()
        _say(" ".join(("attentest:", SENTENCES[signal.Signals(number).name], *_advice)))
    finally:
        os._exit(128 + number)


def _kill_workers() -> None:
    if "multiprocessing" in sys.modules:
        for worker in sys.modules["multiprocessing"].active_children():
            worker.kill()


def _close_all() -> None:
    for close in _closing:
        closer = threading.Thread(target=close, daemon=True)
        closer.start()
        closer.join(CLOSING / len(_closing))


def _say(line: str) -> None:
    """Past all buffers, whose locks another thread may have; not if nobody reads, which would block."""
    if sys.__stderr__ is None:
        return
    stream = sys.__stderr__.fileno()
    if select.select([], [stream], [], 0.1)[1]:
        # in a terminal over a bar that was not finished, and with the cursor that it hid
        start = "\r\x1b[K\x1b[?25h" if os.isatty(stream) else ""
        os.write(stream, f"{start}{line}\n".encode())
