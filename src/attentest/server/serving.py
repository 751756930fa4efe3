"""A server that runs until it is told to stop, bound to this machine unless told otherwise."""

from __future__ import annotations

import contextlib
import logging
import socket
import sys
from collections.abc import Iterator

import uvicorn
from starlette.types import ASGIApp

from attentest.errors import InputError

HOST, PORT = "127.0.0.1", 8000


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 is any that is free."""
    if not 0 <= port <= 65_535:
        raise InputError(f"port is {port}; expected 0 to 65535.")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(2048)
    except (OSError, UnicodeError) as error:
        reason = getattr(error, "strerror", None) or "there is no such address"
        raise InputError(f"{host}:{port} cannot be served: {reason}. Choose another `port` or `host`.") from error
    return listening


def address_of(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def run_server(app: ASGIApp, listening: socket.socket) -> None:
    """Until a signal ends the program. Requests are not logged: addresses may hold tokens and texts."""
    config = uvicorn.Config(
        app,
        log_config=None,
        access_log=False,
        lifespan="off",
        server_header=False,
        proxy_headers=False,  # what a client says about its address would let it pass limits
        timeout_keep_alive=30,
        limit_concurrency=1000,
        ws="none",
    )
    sys.stdout.flush()  # where it is, also into a file or a pipe
    logging.getLogger("asyncio").addFilter(_is_mistake)
    _Server(config).run(sockets=[listening])


def _is_mistake(record: logging.LogRecord) -> bool:
    """The event loop reports all that is raised in it, also the signal that ends the program (cli/signals.py)."""
    raised = record.exc_info[1] if record.exc_info else None
    return raised is None or isinstance(raised, Exception)


class _Server(uvicorn.Server):
    """Signals are the program's own affair (cli/signals.py)."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield
