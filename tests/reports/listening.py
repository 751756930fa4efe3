"""A server that nobody should ever ask for anything, in a process of its own: a converter may hold this one's lock."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SERVER = """
import http.server, pathlib, sys

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        with pathlib.Path(sys.argv[1]).open("a") as log:
            log.write(self.path + "\\n")
        self.send_response(200)
        self.send_header("Access-Control-Allow-Origin", "*")
        self.end_headers()
        self.wfile.write(b'[{"a": 1}]')

    do_POST = do_HEAD = do_OPTIONS = do_GET

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
"""


class Listener:
    def __init__(self, address: str, log: Path) -> None:
        self.address, self._log = address, log

    @property
    def heard(self) -> list[str]:
        """The paths that were asked for."""
        return self._log.read_text().split() if self._log.exists() else []


@contextmanager
def listening(folder: Path) -> Iterator[Listener]:
    log = folder / "requests.log"
    with subprocess.Popen([sys.executable, "-c", _SERVER, str(log)], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        port = int(server.stdout.readline())
        yield Listener(f"http://127.0.0.1:{port}", log)
        server.terminate()
