"""How a pretrained encoder is trained: AdamW, a learning rate that rises and falls, and gradients that are clipped."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict

import torch
from torch import Tensor, nn

from attentest.errors import InputError, brief
from attentest.text.prepare import OF_PIECES
from attentest.text.settings import TextSettings
from attentest.training.settings import Settings, TrainingSettings

CLIP = 1.0  # the largest norm of the gradient of a text's mean loss
READ = ("max_tokens", "min_tokens", "long", "stride")  # text settings with a meaning: the rest is the tokenizer's own
OF_READERS = ("attention_lr", "train_vectors", "freeze", "take")  # training settings for parts that an encoder lacks
OF_ENCODERS = ("warmup", "freeze_layers")


def check_fine_tuning(settings: Settings) -> None:
    """Refuse settings that mean nothing for a pretrained encoder, and those that mean something for it alone."""
    usual = asdict(TextSettings()) | asdict(TrainingSettings())
    given = asdict(settings.text) | asdict(settings.training)
    changed = [name for name, value in given.items() if value != usual[name]]
    if settings.model.pretrained is None:
        if settings.text.long == "windows":
            raise InputError(OF_PIECES)
        for name in (name for name in changed if name in OF_ENCODERS):
            raise InputError(f"{name} is for a pretrained encoder; choose one with `pretrained`.")
        return
    settings.model.check_parts()
    unread = [name for name in asdict(settings.text) if name not in READ]
    for name in (name for name in changed if name in (*unread, *OF_READERS)):
        raise InputError(
            f"A pretrained encoder has its own tokenizer and parts; {name} {brief(given[name])} cannot be set."
        )


class FineTuningOptimizer:
    """AdamW without decay of biases and norms; the learning rate rises over a share of the steps, then falls to 0.

    The loss of a batch is the sum over its texts, so the norm of its gradient may be `texts` times as large as that of
    their mean. All that is needed to go on is the state of AdamW and the number of steps.
    """

    def __init__(
        self, model: nn.Module, lr: float, weight_decay: float, *, steps: int, warmup: float = 0.0, texts: int = 1
    ) -> None:
        self.lr, self.total, self.clip = lr, steps, CLIP * texts
        self.rising = math.ceil(warmup * steps)
        self.steps = 0
        trained = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
        norms = {f"{name}.weight" for name, module in model.named_modules() if "norm" in type(module).__name__.lower()}
        plain = [parameter for name, parameter in trained if name.endswith("bias") or name in norms]
        decayed = [parameter for name, parameter in trained if not (name.endswith("bias") or name in norms)]
        groups = [{"params": decayed, "weight_decay": weight_decay}, {"params": plain, "weight_decay": 0.0}]
        self.adam = torch.optim.AdamW([group for group in groups if group["params"]], lr=lr, fused=True)
        self._parameters = decayed + plain

    def zero_grad(self) -> None:
        for parameter in self._parameters:
            parameter.grad = None

    def step(self) -> None:
        torch.nn.utils.clip_grad_norm_(self._parameters, self.clip)
        for group in self.adam.param_groups:
            group["lr"] = self.lr * self.share(self.steps)
        self.adam.step()
        self.steps += 1

    def share(self, step: int) -> float:
        """Of the learning rate, in the step with this number from 0; without a rise it stays the same."""
        if not self.rising:
            return 1.0
        if step < self.rising:
            return (step + 1) / self.rising
        return max(0.0, (self.total - step) / (self.total - self.rising + 1))

    def tensors(self) -> dict[str, Tensor]:
        """Everything needed to go on from here, as named tensors."""
        named = {"steps": torch.tensor(self.steps)}
        for i, parameter in enumerate(self._parameters):
            named |= {f"{i}.{name}": value for name, value in self.adam.state.get(parameter, {}).items()}
        return named

    def like(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Tensors of the names, shapes and types of a state that has these names; a parameter may have none yet."""
        expected = {"steps": torch.tensor(0)}
        begun = {name.rpartition(".")[0] for name in names}
        for i, parameter in enumerate(self._parameters):
            if str(i) in begun:
                expected |= {f"{i}.step": torch.tensor(0.0), f"{i}.exp_avg": parameter, f"{i}.exp_avg_sq": parameter}
        return expected

    def load_tensors(self, named: dict[str, Tensor]) -> None:
        self.steps = int(named["steps"])
        for i, parameter in enumerate(self._parameters):
            prefix = f"{i}."
            state = {key.removeprefix(prefix): value for key, value in named.items() if key.startswith(prefix)}
            if state:
                # copies, as AdamW writes into its state; the step lies beside the parameter too, as `fused` wants it
                self.adam.state[parameter] = {
                    key: value.to(parameter.device, copy=True) for key, value in state.items()
                }
