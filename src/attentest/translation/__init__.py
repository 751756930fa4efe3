"""Translation: models that attend while they generate, their training, search, and weights changed at every step."""

from typing import TYPE_CHECKING

from attentest.lazy import lazy_names

if TYPE_CHECKING:
    from attentest.translation.interventions import Intervention
    from attentest.translation.run import Translation, TranslationRun, open_translation
    from attentest.translation.train_model import train_translation

__all__ = ["Intervention", "Translation", "TranslationRun", "open_translation", "train_translation"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "interventions": ["Intervention"],
        "run": ["Translation", "TranslationRun", "open_translation"],
        "train_model": ["train_translation"],
    },
)
