"""Whether what the servers are built on is installed."""

from __future__ import annotations

from importlib.util import find_spec

from attentest.errors import InputError


def need_web() -> None:
    """A message instead of a stack trace where the extra is not installed."""
    missing = [name for name in ("fastapi", "uvicorn", "sqlalchemy") if find_spec(name) is None]
    if missing:
        raise InputError(f"{' and '.join(missing)} must be installed for this: pip install 'attentest[web]'.")
