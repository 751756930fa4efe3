"""Adam with amsgrad, as the papers train, with embedding rows updated only when a batch has them.

A dense step walks over every row of every moment for the few hundred words of a batch. Here a row's moments,
its maximum and its weight decay move only in the steps in which the word occurs (bias correction counts all
steps). Where every row occurs in every batch the two are the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

import torch
from torch import Tensor, nn


class Optimizer(Protocol):
    """What a training and its checkpoint ask of an optimiser."""

    def zero_grad(self) -> None: ...

    def step(self) -> None: ...

    def tensors(self) -> dict[str, Tensor]:
        """Everything needed to go on from here, as named tensors."""

    def like(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Tensors of the names, shapes and types of a state that has these names."""

    def load_tensors(self, named: dict[str, Tensor]) -> None: ...


class RowAdam:
    """amsgrad on the touched rows of embedding matrices with sparse gradients."""

    def __init__(
        self,
        parameters: Iterable[nn.Parameter],
        lr: float,
        weight_decay: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
    ) -> None:
        self.parameters = list(parameters)
        self.lr, self.weight_decay, self.betas, self.eps = lr, weight_decay, betas, eps
        self.steps = 0
        self.moments = [{name: torch.zeros_like(p) for name in ("mean", "square", "largest")} for p in self.parameters]

    @torch.no_grad()
    def step(self) -> None:
        self.steps += 1
        for parameter, moments in zip(self.parameters, self.moments, strict=True):
            if parameter.grad is None:
                continue
            gradient = parameter.grad.coalesce()
            self._update_rows(parameter, gradient.indices()[0], gradient.values(), moments)
            parameter.grad = None

    def _update_rows(self, parameter: Tensor, rows: Tensor, gradient: Tensor, moments: dict[str, Tensor]) -> None:
        beta1, beta2 = self.betas
        values = parameter.index_select(0, rows)
        gradient = gradient.add(values, alpha=self.weight_decay)
        mean = moments["mean"].index_select(0, rows).lerp_(gradient, 1 - beta1)
        square = moments["square"].index_select(0, rows).mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        largest = torch.maximum(moments["largest"].index_select(0, rows), square)
        scale = largest.sqrt().div_((1 - beta2**self.steps) ** 0.5).add_(self.eps)
        parameter.index_copy_(0, rows, values.addcdiv_(mean, scale, value=-self.lr / (1 - beta1**self.steps)))
        for name, value in (("mean", mean), ("square", square), ("largest", largest)):
            moments[name].index_copy_(0, rows, value)


class PaperOptimizer:
    """The papers' three groups: embeddings, attention (no weight decay), and everything else."""

    def __init__(self, model: nn.Module, lr: float, attention_lr: float, weight_decay: float) -> None:
        embedding: list[nn.Parameter] = []
        attention: list[nn.Parameter] = []
        rest: list[nn.Parameter] = []
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue
            group = embedding if name.startswith("embedding.") else attention if name.startswith("alignment.") else rest
            group.append(parameter)
        self.rows = RowAdam(embedding, lr, weight_decay)
        self.dense = torch.optim.Adam(
            [
                {"params": rest, "lr": lr, "weight_decay": weight_decay},
                {"params": attention, "lr": attention_lr, "weight_decay": 0.0},
            ],
            amsgrad=True,
            fused=True,
        )
        self._dense_parameters = rest + attention

    def zero_grad(self) -> None:
        for parameter in self._dense_parameters + self.rows.parameters:
            parameter.grad = None

    def step(self) -> None:
        self.dense.step()
        self.rows.step()

    def tensors(self) -> dict[str, Tensor]:
        """Everything needed to go on from here, as named tensors."""
        named = {"rows.steps": torch.tensor(self.rows.steps)}
        for i, moments in enumerate(self.rows.moments):
            named |= {f"rows.{i}.{name}": value for name, value in moments.items()}
        for i, parameter in enumerate(self._dense_parameters):
            for name, value in self.dense.state.get(parameter, {}).items():
                named[f"dense.{i}.{name}"] = value
        return named

    def like(self, names: Iterable[str]) -> dict[str, Tensor]:
        """Tensors of the names, shapes and types of a state that has these names; a parameter may have none yet."""
        expected = {name: value for name, value in self.tensors().items() if name.startswith("rows.")}
        begun = {name.rpartition(".")[0] for name in names}
        for i, parameter in enumerate(self._dense_parameters):
            if f"dense.{i}" in begun:
                expected[f"dense.{i}.step"] = torch.tensor(0.0)
                expected |= {f"dense.{i}.{name}": parameter for name in ("exp_avg", "exp_avg_sq", "max_exp_avg_sq")}
        return expected

    def load_tensors(self, named: dict[str, Tensor]) -> None:
        self.rows.steps = int(named["rows.steps"])
        for i, moments in enumerate(self.rows.moments):
            for name in moments:
                moments[name].copy_(named[f"rows.{i}.{name}"])
        for i, parameter in enumerate(self._dense_parameters):
            prefix = f"dense.{i}."
            state = {key.removeprefix(prefix): value for key, value in named.items() if key.startswith(prefix)}
            if state:
                # copies, as Adam writes into its state; the step lies beside the parameter too, as `fused` wants it
                self.dense.state[parameter] = {
                    key: value.to(parameter.device, copy=True) for key, value in state.items()
                }
