"""Training: fit, checkpoints, and the run folder a finished training leaves."""

from attentest.progress import Listener
from attentest.training.fit import TrainingSettings
from attentest.training.run import Run, open_run
from attentest.training.train_model import train

__all__ = ["Listener", "Run", "TrainingSettings", "open_run", "train"]
