"""The same sentences translated with the model's own weights and with others in their place."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from attentest.errors import InputError
from attentest.progress import Listener
from attentest.translation.interventions import GIVEN
from attentest.translation.settings import KINDS

if TYPE_CHECKING:
    from attentest.translation.run import TranslationRun

OWN = "own"
COMPARED = tuple(kind for kind in KINDS if kind != GIVEN)


@dataclass(frozen=True)
class Compared:
    source: str
    translations: dict[str, str]  # by weights: the model's own first

    def as_dict(self) -> dict[str, Any]:
        return {"source": self.source, "translations": dict(self.translations)}


def compared(
    run: TranslationRun,
    texts: Sequence[str] | str,
    *,
    site: Sequence[str] = (),
    head: int | None = None,
    seed: int = 0,
    listener: Listener | None = None,
    **how: Any,
) -> list[Compared]:
    """Each text under the own, uniform, random, permuted and top-dropped weights, of these sites [those on the source,
    as in the trials] and of this head [all]; `how` are the search and the device."""
    for name in ("weights", "given"):
        if name in how:
            raise InputError(f"`compare` translates with all kinds of weights; leave out `{name}`.")
    watch = listener or Listener()
    translated = run.translate(texts, listener=watch, **how)
    given = [one.source for one in translated]
    found = {OWN: translated}
    for number, kind in enumerate(COMPARED):
        watch.progress("translate", number + 1, len(COMPARED) + 1)
        found[kind] = run.translate(
            given, weights=kind, site=site or run.model.source_sites, head=head, seed=seed, **how
        )
    watch.progress("translate", len(COMPARED) + 1, len(COMPARED) + 1)
    return [
        Compared(text, {name: translations[place].text for name, translations in found.items()})
        for place, text in enumerate(given)
    ]
