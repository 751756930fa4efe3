"""What every request must pass, and what every answer says to the browser, whatever page it is of."""

from __future__ import annotations

import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MOST_BYTES = 1_000_000  # of a request's body
TOO_LARGE = 413, f"A request may have at most {MOST_BYTES:,} bytes."
ANY_ADDRESS = "*"  # any number, but no name: a name can be made to lead here by the site of somebody else
WRITES = ("POST", "PUT", "PATCH", "DELETE")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",  # an address may hold a text of the user's
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@dataclass
class Bucket:
    """So many requests at once, and so many a second in the long run, for each client."""

    most: float = 200
    per_second: float = 100
    clients: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    clock: Callable[[], float] = time.monotonic

    def takes(self, client: str) -> bool:
        now = self.clock()
        left, at = self.clients.pop(client, (self.most, now))
        left = min(self.most, left + (now - at) * self.per_second)
        self.clients[client] = (left - 1 if left >= 1 else left, now)
        if len(self.clients) > 10_000:  # those not seen for longest
            self.clients.popitem(last=False)
        return left >= 1


class Safety:
    """Refuses requests for other hosts, writes from other sites, and what is too large or too much."""

    def __init__(self, app: ASGIApp, hosts: Iterable[str], bucket: Bucket | None = None) -> None:
        self.app = app
        self.hosts = {host.lower() for host in hosts}
        self.bucket = bucket or Bucket()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused, body = self._refusal(scope), b""
        if refused is None:
            body = await _body(receive)
            refused = TOO_LARGE if len(body) > MOST_BYTES else None
        if refused is not None:
            status, why = refused
            await JSONResponse({"error": why}, status)(scope, receive, _with_headers(send))
            return
        await self.app(scope, _given(body, receive), _with_headers(send))

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get("host", "")
        if not self._is_own(host.lower()):
            return 421, "This server answers under its own address only."
        if not self.bucket.takes((scope.get("client") or ("",))[0]):
            return 429, "Too many requests; wait a moment."
        if scope["method"] in WRITES:
            origin = headers.get("origin")
            if headers.get("sec-fetch-site", "same-origin") != "same-origin" or (
                origin is not None and _host_of(origin) != host.lower()
            ):
                return 403, "Only the server's own pages may send this."
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return 415, "Send JSON (content-type application/json)."
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > MOST_BYTES:
            return TOO_LARGE
        return None

    def _is_own(self, host: str) -> bool:
        name, port = _parted(host)
        if name != ANY_ADDRESS and host in self.hosts:
            return True
        return f"{ANY_ADDRESS}{port}" in self.hosts and _is_address(name)


def _host_of(origin: str) -> str | None:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:  # half of an address
        return None


async def _body(receive: Receive) -> bytes:
    """All of it, or as much as shows that it is too long, for it need not say how long it is."""
    body = b""
    while len(body) <= MOST_BYTES:
        message = await receive()
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    return body


def _given(body: bytes, receive: Receive) -> Receive:
    """The body as one message, then what comes after it: the client leaves."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return left.pop() if left else await receive()

    return received


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message["headers"]}
            more = [(name.encode(), value.encode()) for name, value in HEADERS.items() if name.encode() not in there]
            message = {**message, "headers": [*message["headers"], *more]}
        await send(message)

    return sent


def hosts_of(host: str, port: int) -> list[str]:
    """What a browser may call this server by: the address that it is bound to and this machine's own names; where it is
    bound to all addresses, any of them."""
    ending = "" if port == 80 else f":{port}"
    names = {"localhost", host}
    if _is_address(host):
        address = ipaddress.ip_address(host)
        names = {"localhost"} if address.is_loopback or address.is_unspecified else set()
        names |= {ANY_ADDRESS} if address.is_unspecified else {f"[{host}]" if address.version == 6 else host}
        names |= set() if address.is_loopback else {socket.gethostname(), socket.getfqdn()}
    elif host == "localhost":
        names |= {"127.0.0.1", "[::1]"}
    return sorted(f"{name.lower()}{ending}" for name in names)


def _parted(host: str) -> tuple[str, str]:
    """Name and port, which begins with a colon, of a Host header."""
    name, colon, port = host.rpartition(":")
    return (name, f":{port}") if colon and port.isdigit() else (host, "")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name[1:-1] if name.startswith("[") and name.endswith("]") else name)
    except ValueError:
        return False
    return True
