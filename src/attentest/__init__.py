"""attentest: can this model's attention be trusted as an explanation, and in which sense?

corpus = attentest.load("reviews.csv", text="body", label="stars")
run = attentest.train(corpus, encoder="bilstm")
run.show()
run.audit().show()
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from attentest.version import __version__ as __version__

__all__ = [
    "AttentionClassifier",
    "Audit",
    "Comparison",
    "Corpus",
    "Finding",
    "InputError",
    "Run",
    "StudyResult",
    "Subject",
    "audit",
    "compare",
    "load",
    "open_run",
    "report",
    "study",
    "train",
    "trial",
]

# Threads that wait by spinning fight over shared cores and make small batches several times slower. OpenMP reads
# these once, when torch is first imported; whoever sets them first keeps their choice.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")

if TYPE_CHECKING:
    from attentest.audits import Audit, audit
    from attentest.comparisons import Comparison, compare
    from attentest.corpora import Corpus, load
    from attentest.errors import InputError
    from attentest.estimator import AttentionClassifier
    from attentest.reports.result import report
    from attentest.runs import Run, open_run, train
    from attentest.studies.run_study import StudyResult, study
    from attentest.trials import Finding, Subject, trial

_HOMES = {
    "load": "attentest.corpora:load",
    "Corpus": "attentest.corpora:Corpus",
    "InputError": "attentest.errors:InputError",
    "train": "attentest.runs:train",
    "Run": "attentest.runs:Run",
    "open_run": "attentest.runs:open_run",
    "trial": "attentest.trials:trial",
    "Finding": "attentest.trials:Finding",
    "Subject": "attentest.trials:Subject",
    "Audit": "attentest.audits:Audit",
    "audit": "attentest.audits:audit",
    "Comparison": "attentest.comparisons:Comparison",
    "compare": "attentest.comparisons:compare",
    "StudyResult": "attentest.studies.run_study:StudyResult",
    "study": "attentest.studies.run_study:study",
    "report": "attentest.reports.result:report",
    "AttentionClassifier": "attentest.estimator:AttentionClassifier",
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
