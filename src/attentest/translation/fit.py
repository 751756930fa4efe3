"""Training with the right tokens put in (teacher forcing): epochs over batches by tokens, the best one on dev kept."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Int

from attentest.errors import InputError
from attentest.training.fine_tuning import FineTuningOptimizer
from attentest.training.fit import Progress
from attentest.translation.data import (
    Pairs,
    ParallelData,
    by_length,
    make_pairs,
    make_sources,
    training_batches,
    training_order,
)
from attentest.translation.interventions import Intervention
from attentest.translation.model import Translator
from attentest.translation.scores import bleu
from attentest.translation.search import Hypothesis, StepsOf, greedy, leave, shifted
from attentest.translation.settings import TranslationModel, TranslationTraining
from attentest.translation.tokens import PAD

Watch = Callable[[int, int], None]  # batches done, batches in all
Save = Callable[[Translator, FineTuningOptimizer, Progress], None]


def fit(
    model: Translator,
    optimizer: FineTuningOptimizer,
    data: ParallelData,
    settings: TranslationTraining,
    *,
    lower: bool,
    steps_of: StepsOf = leave,
    device: torch.device | str = "cpu",
    progress: Progress | None = None,
    watch: Watch = lambda done, total: None,
    save: Save = lambda model, optimizer, progress: None,
) -> Progress:
    """Train from where `progress` stands; afterwards the model has the weights of its best epoch."""
    progress = progress or Progress()
    train, dev = data.of_split("train"), data.of_split("dev")
    per_epoch = batches_of_an_epoch(data, settings)
    while not progress.is_over(settings):
        epoch = progress.epoch + 1
        loss, tokens = 0.0, 0
        # all chance of an epoch hangs on (seed, epoch), so a resumed training repeats an unbroken one
        order = np.random.default_rng([settings.seed, epoch])
        with torch.random.fork_rng(devices=[] if str(device) == "cpu" else None):
            torch.manual_seed(int(order.integers(2**62)))
            model.train()
            for done, batch in enumerate(training_batches(data, train, settings.batch_tokens, order), 1):
                added, counted = training_step(model, optimizer, batch.to(device), settings, steps_of)
                loss, tokens = loss + added, tokens + counted
                watch((epoch - 1) * per_epoch + min(done, per_epoch), settings.epochs * per_epoch)
        model.eval()
        dev_loss = mean_loss(model, data, dev, steps_of, device)
        if not math.isfinite(loss + dev_loss):
            found = loss if not math.isfinite(loss) else dev_loss
            raise InputError(
                f"Training diverged in epoch {epoch} (the loss is {found}); try a lower `lr` than {settings.lr}."
            )
        row = {"epoch": epoch, "loss": loss / tokens, "score": -dev_loss, "dev_loss": dev_loss}
        if settings.select_by == "bleu":
            best = translate_all(model, data, dev, steps_of, device)
            texts = [data.target_tokens.text(one.tokens) for one in best]
            row["score"] = row["bleu"] = bleu(texts, data.texts("second", dev), lower=lower).value
        progress.history.append(row)
        progress.epoch = epoch
        if progress.best_epoch == epoch:
            progress.best = {name: value.detach().clone() for name, value in model.state_dict().items()}
        save(model, optimizer, progress)
    model.load_state_dict(progress.best)
    model.eval()
    return progress


def batches_of_an_epoch(data: ParallelData, settings: TranslationTraining) -> int:
    """Of the first one; others may have a few more or fewer, as their noise differs."""
    train = data.of_split("train")
    lengths = data.source.lengths[train], data.target.lengths[train]
    return len(training_order(*lengths, settings.batch_tokens, np.random.default_rng([settings.seed, 1])))


def training_step(
    model: Translator, optimizer: FineTuningOptimizer, batch: Pairs, settings: TranslationTraining, steps_of: StepsOf
) -> tuple[float, int]:
    """The sum of the tokens' losses, and their number; the gradient is that of their mean."""
    optimizer.zero_grad()
    steps = steps_of(batch.sources.texts)
    real = batch.targets != PAD
    targets = batch.targets[real]
    coarse = settings.dtype == "bfloat16"
    with torch.autocast(batch.targets.device.type, torch.bfloat16, enabled=coarse):
        memory = model.encode(batch.sources.ids, batch.sources.mask, steps)
        # one product for all real tokens of all steps
        logits = model.project(model.forced(memory, shifted(batch.targets), steps)[real])
    loss = F.cross_entropy(logits.float(), targets, label_smoothing=settings.label_smoothing)
    loss.backward()
    optimizer.step()
    return float(loss.detach()) * len(targets), len(targets)


@torch.no_grad()
def mean_loss(
    model: Translator,
    data: ParallelData,
    places: Int[np.ndarray, "chosen"],
    steps_of: StepsOf,
    device: torch.device | str = "cpu",
) -> float:
    """Of the right tokens, without smoothing."""
    loss, tokens = 0.0, 0
    for some in by_length(data.target.lengths[places]):
        batch = make_pairs(data, places[some]).to(device)
        steps = steps_of(batch.sources.texts)
        memory = model.encode(batch.sources.ids, batch.sources.mask, steps)
        outputs = model.forced(memory, shifted(batch.targets), steps)
        real = batch.targets != PAD
        loss += float(F.cross_entropy(model.project(outputs[real]), batch.targets[real], reduction="sum"))
        tokens += int(real.sum())
    return loss / max(1, tokens)


def translate_all(
    model: Translator,
    data: ParallelData,
    places: Int[np.ndarray, "chosen"],
    steps_of: StepsOf,
    device: torch.device | str = "cpu",
) -> list[Hypothesis]:
    """Greedy translations, in the order of `places`, and numbered so: trials of the test split know no other number,
    and random weights that are fixed hang on it."""
    numbers = np.zeros(len(data.source), np.int64)
    numbers[places] = np.arange(len(places))
    found: dict[int, Hypothesis] = {}
    for some in by_length(data.source.lengths[places]):
        batch = make_sources(data.source, places[some], numbers).to(device)
        found |= zip(some.tolist(), greedy(model, batch.ids, batch.mask, batch.texts, steps_of), strict=True)
    return [found[place] for place in range(len(places))]


def fixed_weights(settings: TranslationModel, model: Translator, seed: int) -> StepsOf:
    """What a model that does not learn its weights on the source has in their place."""
    if settings.fixed == "none":
        return leave
    return Intervention(settings.fixed, model.source_sites, seed=seed).steps
