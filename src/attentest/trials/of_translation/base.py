"""What every trial of a translation run is."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import ClassVar

import pyarrow as pa

from attentest.errors import InputError
from attentest.trials.base import Columns, Conclusion, Examiner, Trial
from attentest.trials.of_translation.subject import TranslationSubject
from attentest.trials.subject import Subject

Watch = Callable[[int, int], None]  # parts of its work done, and in all


class TranslationTrial(Trial):
    """Like other trials in all that findings, figures and pages ask of one; but it is put to pairs of sentences."""

    needs: ClassVar[str] = "a translation run"
    needs_sites: ClassVar[tuple[str, ...]] = ()  # kinds of sites without which it does not apply

    def fits(self, subject: Subject) -> bool:
        return False

    def examiner(self, subject: Subject) -> Examiner:
        raise InputError(f"The trial {self.name} is for translation runs; this model decides about texts.")

    def files(self) -> Mapping[str, str]:
        """Settings that name files, and these: what is in them is part of what a trial is."""
        return {}

    def applies_to(self, subject: TranslationSubject) -> bool:
        kinds = {site.partition(".")[0] for site in subject.run.sites}
        return not self.needs_sites or bool(kinds & set(self.needs_sites))

    def lacks(self, subject: TranslationSubject) -> str:
        """What to say where it does not apply."""
        return f"it needs the sites {' or '.join(self.needs_sites)}, and the model has {', '.join(subject.run.sites)}"

    @abstractmethod
    def columns(self, subject: TranslationSubject, watch: Watch) -> Columns:
        """One entry for each pair, in the subject's order."""

    @abstractmethod
    def conclude(self, table: pa.Table) -> Conclusion:
        """What the table of all pairs says."""
