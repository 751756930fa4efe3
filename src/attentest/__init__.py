"""attentest: can this model's attention be trusted as an explanation, and in which sense?

corpus = attentest.load("reviews.csv", text="body", label="stars")
run = attentest.train(corpus, encoder="bilstm")
run.show()
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from attentest.version import __version__ as __version__

__all__ = ["Audit", "Corpus", "Finding", "InputError", "Run", "audit", "load", "open_run", "train", "trial"]

# Threads that wait by spinning fight over shared cores and make small batches several times slower. OpenMP reads
# these once, when torch is first imported; whoever sets them first keeps their choice.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

if TYPE_CHECKING:
    from attentest.audits import Audit, audit
    from attentest.corpora import Corpus, load
    from attentest.errors import InputError
    from attentest.training import Run, open_run, train
    from attentest.trials import Finding, trial

_HOMES = {
    "load": "attentest.corpora:load",
    "Corpus": "attentest.corpora:Corpus",
    "InputError": "attentest.errors:InputError",
    "train": "attentest.training:train",
    "Run": "attentest.training:Run",
    "open_run": "attentest.training:open_run",
    "trial": "attentest.trials:trial",
    "Finding": "attentest.trials:Finding",
    "Audit": "attentest.audits:Audit",
    "audit": "attentest.audits:audit",
}


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: torch takes seconds, `attentest --help` must not."""
    if name not in _HOMES:
        raise AttributeError(f"module 'attentest' has no attribute '{name}'")
    from importlib import import_module

    module, _, attribute = _HOMES[name].partition(":")
    return getattr(import_module(module), attribute)
