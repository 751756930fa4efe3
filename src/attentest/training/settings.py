"""The settings of a run, in the groups they belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attentest.errors import unknown_name
from attentest.models.settings import ModelSettings
from attentest.settings import LARGEST_SEED, Setting, check_values, setting, settings_of
from attentest.text.settings import TextSettings

if TYPE_CHECKING:
    from attentest.corpora.corpus import Corpus

ModelPart = Literal["embedding", "encoder", "alignment", "decoder"]


@dataclass(frozen=True)
class TrainingSettings:
    """Jain & Wallace's settings, as Wiegreffe & Pinter 2019 (§3.1) report them; Meister et al. 2021 use a learning rate
    of 1e-4 for a BiLSTM and of 1e-5 for a Transformer."""

    epochs: int = setting(8, "Passes over the training texts.", least=1, most=1_000_000)
    batch_size: int = setting(32, "Texts per step.", least=1, most=1_000_000)
    lr: float = setting(1e-3, "Learning rate.", above=0)
    attention_lr: float | None = setting(
        None, "Learning rate of the attention parameters.", least=0, otherwise="same as `lr`"
    )
    weight_decay: float = setting(1e-5, "Weight decay of all but the attention parameters.", least=0)
    class_weights: bool = setting(
        True,
        "Weight classes by their rarity, or equally; for question answering always equally.",
        flags=("class-weights", "no-class-weights"),
    )
    select_by: Literal["auc", "f1", "accuracy", "loss", "dev-loss"] = setting(
        "auc", "Validation score that selects the epoch; loss is the training loss, dev-loss an adversary's on dev."
    )
    patience: int | None = setting(
        None, "Epochs without improvement before training stops.", least=1, otherwise="no limit"
    )
    train_vectors: bool = setting(
        True, "Fine-tune the word vectors, or keep them fixed.", flags=("train-vectors", "freeze-vectors")
    )
    warmup: float = setting(
        0.0,
        "Share of the steps in which the learning rate of a pretrained encoder rises; then it falls to 0.",
        least=0,
        most=1,
        otherwise="it stays the same",
    )
    freeze_layers: int = setting(
        0, "Lowest layers of a pretrained encoder that are not trained, with its embeddings.", least=0, most=10_000
    )
    freeze: tuple[ModelPart, ...] = setting((), "Part of the model that is not trained.", otherwise="")
    take: tuple[ModelPart, ...] = setting((), "Part of the model to copy from `start`.", otherwise="all")
    objective: Literal["labels", "adversary", "guide", "deceive", "inflate", "suffice"] = setting(
        "labels",
        "Objective: fit labels, imitate `base`, or fit labels, weight on or off rationales.",
    )
    strength: float = setting(
        0.001,
        "Weight of the divergence λ (adversary) or of the log of the weight on rationales (guide) or off (the others).",
        least=0,
    )
    seed: int = setting(
        0, "Random seed for word vectors, initial weights, batch order and noise.", least=0, most=LARGEST_SEED
    )

    def __post_init__(self) -> None:
        check_values(self)


FINE_TUNING: dict[str, Any] = {  # the defaults of `attentest.finetune` that are not those of `train`
    "epochs": 3,
    "batch_size": 16,
    "lr": 5e-5,
    "weight_decay": 0.01,
    "warmup": 0.1,
    "class_weights": False,
    "select_by": "accuracy",
    "patience": 2,
}


class Settings(NamedTuple):
    text: TextSettings
    model: ModelSettings
    training: TrainingSettings


GROUPS = {"text": TextSettings, "model": ModelSettings, "training": TrainingSettings}


def known_settings() -> dict[str, tuple[str, Setting]]:
    """Every setting by its name, with its group."""
    return {one.name: (group, one) for group, kind in GROUPS.items() for one in settings_of(kind)}


def sort_settings(corpus: Corpus, given: Mapping[str, Any]) -> Settings:
    """Each setting to the group that has it; the corpus's recipe stands where nothing was given."""
    chosen: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    if given.get("pretrained") is None:  # which has a tokenizer of its own
        chosen["text"].update({name: value for name, value in corpus.recipe.items() if name != "answers"})
    for name, value in given.items():
        group, checked = check_setting(name, value)
        chosen[group][name] = checked
    return Settings(*(kind(**chosen[group]) for group, kind in GROUPS.items()))


def check_setting(name: str, value: Any) -> tuple[str, Any]:
    """The group that a setting belongs to, and its value if it is of the right type."""
    known = known_settings()
    if name not in known:
        raise unknown_name("setting", name, known)
    group, one = known[name]
    return group, one.checked(value)


def plain(settings: dict[str, Any]) -> dict[str, Any]:
    """As JSON gives them back."""
    found: dict[str, Any] = json.loads(json.dumps(settings))
    return found
