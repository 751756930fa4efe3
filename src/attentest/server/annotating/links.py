"""Private links of annotators, and the names under which the server may be called.

A link has its token after the #: browsers send that part to nobody, so it is in no log, no proxy and no referrer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from attentest.errors import InputError, brief
from attentest.people.answers import Answers, checked_name
from attentest.server.safety import hosts_of

EVERYWHERE = ("0.0.0.0", "::", "")
USUAL_PORTS = {"http": 80, "https": 443}


def names_in(text: str) -> list[str]:
    """ann,bo -> each name once, as it is stored."""
    return list(dict.fromkeys(checked_name(name) for name in text.split(","))) if text.strip() else []


def links_for(answers: Answers, address: str, names: Iterable[str], renewed: Sequence[str]) -> dict[str, str | None]:
    """By name, of all who may answer. Links of earlier starts stay valid, but nobody can read them again: None."""
    for name in set(renewed) - set(answers.annotators()):  # before anybody gets a link that would not be told
        raise InputError(
            f"There is no annotator {brief(name)} yet who could get another link; name them in `annotators`."
        )
    tokens = {name: answers.new_token(name) for name in renewed} | answers.enroll(list(names))
    every = answers.annotators()
    if not every:
        raise InputError("Nobody can answer yet; name the annotators with `annotators`, e.g. ann,bo.")
    return {name: f"{address}/#{tokens[name]}" if name in tokens else None for name in every}


def public_address(address: str | None, host: str, usual: str) -> str:
    """What links begin with: as given, or the server's own."""
    if address is None:
        if host in EVERYWHERE:
            raise InputError(
                f"`host` is {host or 'empty'}, which nobody can open; also say with `address` how annotators reach "
                "this machine, e.g. http://192.168.0.10:8000."
            )
        return usual
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    if parts.scheme not in USUAL_PORTS or not parts.hostname or parts.path.strip("/") or parts.query or parts.fragment:
        raise InputError(f"`address` is {brief(address)}; expected http://NAME:PORT or https://NAME.")
    name = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{name}" + ("" if port in (None, USUAL_PORTS[parts.scheme]) else f":{port}")


def allowed_hosts(address: str, host: str, port: int) -> list[str]:
    """Of the address, and of this machine for whoever serves or for a proxy on it."""
    own = hosts_of("127.0.0.1" if host in EVERYWHERE else host, port)
    return [*own, urlsplit(address).netloc]
