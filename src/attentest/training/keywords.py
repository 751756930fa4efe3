"""The settings as keyword arguments: a type that checkers complete, and a signature that notebooks complete."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any, Literal, TypedDict, TypeVar

from attentest.training.settings import GROUPS, ModelPart

Function = TypeVar("Function", bound=Callable[..., Any])


class SettingsGiven(TypedDict, total=False):
    """The fields of TextSettings, ModelSettings and TrainingSettings, name and type; a test holds them equal."""

    tokenizer: str
    lower: bool
    digits: Literal["keep", "qqq"]
    min_frequency: int
    min_tokens: int
    max_tokens: int
    long: Literal["cut", "drop", "windows"]
    stride: int
    vectors: str
    dimension: int
    vector_scale: float
    encoder: str
    alignment: str
    projection: str
    hidden: int
    dropout: float
    self_projection: str
    structure: str
    pairing: str
    decoder: str
    pretrained: str | None
    epochs: int
    batch_size: int
    lr: float
    attention_lr: float | None
    weight_decay: float
    class_weights: bool
    select_by: Literal["auc", "f1", "accuracy", "loss", "dev-loss"]
    patience: int | None
    train_vectors: bool
    warmup: float
    freeze_layers: int
    freeze: tuple[ModelPart, ...]
    take: tuple[ModelPart, ...]
    objective: Literal["labels", "adversary", "guide", "deceive", "inflate", "suffice"]
    strength: float
    seed: int


DEFAULTS = {field.name: field.default for kind in GROUPS.values() for field in fields(kind)}


def takes(kind: Any, defaults: Mapping[str, Any]) -> Callable[[Function], Function]:
    """Let a function's signature name each of the keywords that its `**` stands for; None where no default is told."""

    def named(function: Function) -> Function:
        signature = inspect.signature(function)
        own = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        more = [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=defaults.get(name),
                annotation=getattr(annotation, "__forward_arg__", annotation),
            )
            for name, annotation in kind.__annotations__.items()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return named
