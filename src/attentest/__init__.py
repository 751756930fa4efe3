"""attentest: can this model's attention be trusted as an explanation, and in which sense?

corpus = attentest.load("reviews.csv", text="body", label="stars")
run = attentest.train(corpus, encoder="bilstm")
run.show()
run.audit().show()
"""

from __future__ import annotations

import os

from attentest.allocator import keep_freed_memory
from attentest.lazy import lazy_names
from attentest.version import __version__ as __version__

__all__ = [
    "AttentionClassifier",
    "Audit",
    "CalibrationResult",
    "Comparison",
    "Corpus",
    "Finding",
    "InputError",
    "Run",
    "StudyResult",
    "Subject",
    "TranslationRun",
    "audit",
    "calibrate",
    "compare",
    "export",
    "finetune",
    "load",
    "open_run",
    "open_translation",
    "report",
    "study",
    "train",
    "train_translation",
    "trial",
]

# Threads that wait by spinning fight over shared cores and make small batches several times slower. OpenMP reads
# these once, when torch is first imported; whoever sets them first keeps their choice.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
keep_freed_memory()

TYPE_CHECKING = False  # as in typing, whose import would double the time before the program hears a Ctrl-C
if TYPE_CHECKING:
    from attentest.audits import Audit, audit
    from attentest.calibrations import CalibrationResult, calibrate
    from attentest.comparisons import Comparison, compare
    from attentest.corpora import Corpus, load
    from attentest.errors import InputError
    from attentest.estimator import AttentionClassifier
    from attentest.exports.export import export
    from attentest.reports.result import report
    from attentest.runs import Run, finetune, open_run, train, trial
    from attentest.studies.run_study import StudyResult, study
    from attentest.translation import TranslationRun, open_translation, train_translation
    from attentest.trials import Finding, Subject

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "audits": ["Audit", "audit"],
        "calibrations": ["CalibrationResult", "calibrate"],
        "comparisons": ["Comparison", "compare"],
        "corpora": ["Corpus", "load"],
        "errors": ["InputError"],
        "estimator": ["AttentionClassifier"],
        "exports.export": ["export"],
        "reports.result": ["report"],
        "runs": ["Run", "finetune", "open_run", "train", "trial"],
        "studies.run_study": ["StudyResult", "study"],
        "translation": ["TranslationRun", "open_translation", "train_translation"],
        "trials": ["Finding", "Subject"],
    },
)
