"""Training: fit, checkpoints, and the run folder a finished training leaves."""

from typing import TYPE_CHECKING

from attentest.lazy import lazy_names
from attentest.progress import Listener

if TYPE_CHECKING:
    from attentest.training.run import Run, open_run
    from attentest.training.settings import TrainingSettings
    from attentest.training.train_model import finetune, train

__all__ = ["Listener", "Run", "TrainingSettings", "finetune", "open_run", "train"]

__getattr__, __dir__ = lazy_names(
    __name__, {"run": ["Run", "open_run"], "settings": ["TrainingSettings"], "train_model": ["finetune", "train"]}
)
