"""Training: epochs over length-bucketed batches, the best epoch kept by its validation score."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from attentest.errors import InputError
from attentest.models.build import Trainable
from attentest.text.batches import Batch, training_batches
from attentest.text.prepare import TokenizedCorpus
from attentest.training.objectives import Adversary, Labels, Objective
from attentest.training.optimizer import Optimizer
from attentest.training.predict import Around, as_it_is, predict
from attentest.training.settings import TrainingSettings
from attentest.training.windows import scores_of


@dataclass
class Progress:
    """Where training stands: what a checkpoint holds beside the optimiser."""

    epoch: int = 0  # finished epochs
    history: list[dict[str, Any]] = field(default_factory=list)
    best: dict[str, Tensor] = field(default_factory=dict)

    def is_over(self, settings: TrainingSettings) -> bool:
        waited = self.epoch - self.best_epoch
        return self.epoch >= settings.epochs or (settings.patience is not None and waited >= settings.patience)

    @property
    def best_epoch(self) -> int:
        return max(self.history, key=lambda row: (row["score"], -row["epoch"]))["epoch"] if self.history else 0


Watch = Callable[[int, int], None]  # batches done, batches in all
Save = Callable[[Trainable, Optimizer, Progress], None]


def fit(
    model: Trainable,
    optimizer: Optimizer,
    data: TokenizedCorpus,
    settings: TrainingSettings,
    *,
    objective: Objective | None = None,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
    around: Around = as_it_is,
    watch: Watch = lambda done, total: None,
    save: Save = lambda model, optimizer, progress: None,
) -> Progress:
    """Train from where `progress` stands; afterwards the model has the weights of its best epoch."""
    progress = progress or Progress()
    train, dev = data.of_split("train"), data.of_split("dev")
    objective = objective or labels_of(data, settings, device)
    per_epoch = math.ceil(len(train) / settings.batch_size)
    while not progress.is_over(settings):
        epoch = progress.epoch + 1
        loss = 0.0
        # all chance of an epoch hangs on (seed, epoch), so a resumed training repeats an unbroken one
        order = np.random.default_rng([settings.seed, epoch])
        with torch.random.fork_rng(devices=[] if str(device) == "cpu" else None):
            torch.manual_seed(int(order.integers(2**62)))
            model.train()
            for done, batch in enumerate(training_batches(data, train, settings.batch_size, order), 1):
                loss += training_step(model, optimizer, batch.to(device), objective, around)
                watch((epoch - 1) * per_epoch + done, settings.epochs * per_epoch)
        model.eval()
        if not math.isfinite(loss):
            raise InputError(
                f"Training diverged in epoch {epoch} (the loss is {loss}); try a lower `lr` than {settings.lr}."
            )
        found = predict(model, data, dev, device, around)
        metrics = scores_of(data, found)
        apart = objective.apart(found) if isinstance(objective, Adversary) else {}
        losses = {"loss": loss / len(train), "dev-loss": apart.get("dev_loss", math.nan)}
        score = -losses[settings.select_by] if settings.select_by in losses else metrics[settings.select_by]
        # with a single class in dev there is no AUC; accuracy still tells epochs apart
        score = metrics["accuracy"] if math.isnan(score) else score
        progress.history.append({"epoch": epoch, "loss": loss / len(train), "score": score, **metrics, **apart})
        progress.epoch = epoch
        if progress.best_epoch == epoch:
            progress.best = {name: value.detach().clone() for name, value in model.state_dict().items()}
        save(model, optimizer, progress)
    model.load_state_dict(progress.best)
    return progress


def labels_of(data: TokenizedCorpus, settings: TrainingSettings, device: torch.device | str) -> Labels:
    """The objective of the training labels, in a corpus of questions with equal weights."""
    weigh = settings.class_weights and data.corpus.answers is None
    labels = data.labels[data.of_split("train")]
    return Labels(class_weights(labels, len(data.corpus.classes), weigh).to(device))


def training_step(
    model: Trainable, optimizer: Optimizer, batch: Batch, objective: Objective, around: Around = as_it_is
) -> float:
    optimizer.zero_grad()
    with around(batch):
        logits, weights = model(batch)
    site = next(site for site in model.sites if site in weights)  # a pretrained encoder tells those of its last one
    loss = objective(logits, weights[site], batch)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def class_weights(labels: np.ndarray, classes: int, weigh: bool) -> Tensor:
    if not weigh:
        return torch.ones(classes)
    counts = np.bincount(labels, minlength=classes)
    return torch.tensor(counts[0] / counts, dtype=torch.float32)
