"""How a worker process begins: it ends with its parent, also during the imports of all the rest."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from multiprocessing.connection import Connection, wait


def begin(pipe: Connection, place: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # where it could not be kept away
    threading.Thread(target=_end_with_parent, daemon=True).start()
    from attentest.engine.local import serve

    serve(pipe, place)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    wait([parent.sentinel])
    os._exit(1)
