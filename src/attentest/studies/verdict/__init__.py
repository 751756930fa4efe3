"""What findings say together, under named definitions of explanation."""

from attentest.studies.verdict.calibration import Calibration, Rates, calibration
from attentest.studies.verdict.criterion import Criterion, Definition
from attentest.studies.verdict.definitions import CRITERIA, DEFINITIONS
from attentest.studies.verdict.families import LABELS, TRANSLATIONS, check_apply
from attentest.studies.verdict.judge import (
    EVERY_CRITERION,
    Ruling,
    Verdict,
    check_failures,
    check_thresholds,
    failed,
    judge,
    judge_translation,
)

__all__ = [
    "CRITERIA",
    "DEFINITIONS",
    "EVERY_CRITERION",
    "LABELS",
    "TRANSLATIONS",
    "Calibration",
    "Criterion",
    "Definition",
    "Rates",
    "Ruling",
    "Verdict",
    "calibration",
    "check_apply",
    "check_failures",
    "check_thresholds",
    "failed",
    "judge",
    "judge_translation",
]
