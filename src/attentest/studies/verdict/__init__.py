"""What findings say together, under named definitions of explanation."""

from attentest.studies.verdict.definitions import CRITERIA, DEFINITIONS, Criterion, Definition
from attentest.studies.verdict.judge import Ruling, Verdict, check_failures, check_thresholds, failed, judge

__all__ = [
    "CRITERIA",
    "DEFINITIONS",
    "Criterion",
    "Definition",
    "Ruling",
    "Verdict",
    "check_failures",
    "check_thresholds",
    "failed",
    "judge",
]
