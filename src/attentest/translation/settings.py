"""The settings of a translation model, in the groups they belong to."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from attentest.errors import InputError, unknown_name
from attentest.settings import LARGEST_SEED, Setting, check_types, check_values, setting, settings_of

if TYPE_CHECKING:
    from attentest.corpora.corpus import Corpus


KINDS = ("uniform", "random", "permuted", "dropped", "given")  # of weights that stand in for a model's own


@dataclass(frozen=True)
class TranslationText:
    tokenizer: Literal["word", "whitespace", "subword"] = setting(
        "word", "Tokenizer: words and punctuation marks, split at white space only, or learned subwords."
    )
    lower: bool = setting(True, "Lower-case the texts, or keep their case.", flags=("lower", "keep-case"))
    min_frequency: int = setting(
        2, "Minimum count of a token in the training texts; rarer tokens become unknown.", least=1
    )
    vocabulary: int = setting(
        10_000, "Maximum size of each vocabulary; of subwords the size to learn.", least=8, most=1_000_000
    )
    max_tokens: int = setting(
        100,
        "Maximum number of tokens in a sentence; longer training pairs are dropped, other sentences cut.",
        least=1,
        most=100_000,
    )

    def __post_init__(self) -> None:
        check_values(self)


@dataclass(frozen=True)
class TranslationModel:
    model: Literal["bahdanau", "luong", "transformer"] = setting(
        "bahdanau", "Translation model: recurrent with additive or multiplicative attention, or a Transformer."
    )
    score: Literal["general", "dot"] = setting("general", "Score of the model luong: general (s·Wh) or dot (s·h).")
    dimension: int = setting(256, "Dimension of the word vectors of recurrent models.", least=1, most=100_000)
    hidden: int = setting(
        512, "Size of decoder states; an encoder has half of it per direction.", least=2, most=100_000
    )
    layers: int = setting(1, "Layers of encoder and decoder.", least=1, most=100)
    heads: int = setting(4, "Attention heads of each layer of a Transformer.", least=1, most=1_000)
    wide: int = setting(256, "Size of the inner layer of a Transformer's feed-forward part.", least=1, most=1_000_000)
    dropout: float = setting(0.3, "Share of values that are dropped in training.", least=0, most=0.99)
    fixed: Literal["none", "uniform", "random"] = setting(
        "none", "Weights on the source that are not learned, in training and afterwards."
    )

    def __post_init__(self) -> None:
        check_values(self)
        if self.model == "transformer" and self.hidden % self.heads:
            raise InputError(f"hidden is {self.hidden}; it must be a multiple of heads, {self.heads}.")
        if self.hidden % 2:
            raise InputError(f"hidden is {self.hidden}; it must be even: an encoder has half of it per direction.")


@dataclass(frozen=True)
class TranslationTraining:
    epochs: int = setting(15, "Passes over the training pairs.", least=1, most=1_000_000)
    batch_tokens: int = setting(2048, "Tokens per step on the longer side, padding counted.", least=1, most=10_000_000)
    lr: float = setting(1e-3, "Highest learning rate.", above=0)
    weight_decay: float = setting(1e-5, "Weight decay of all but biases and norms.", least=0)
    warmup: float = setting(
        0.1,
        "Share of the steps in which the learning rate rises; then it falls to 0; with 0 it stays the same.",
        least=0,
        most=1,
    )
    label_smoothing: float = setting(
        0.1, "Share of the target probability that is spread over all tokens.", least=0, most=0.99
    )
    dtype: Literal["float32", "bfloat16"] = setting(
        "float32", "Number type of the products in training; parameters, sums and tests are in float32."
    )
    select_by: Literal["bleu", "loss"] = setting("bleu", "Validation score that selects the epoch.")
    patience: int | None = setting(
        None, "Epochs without improvement before training stops.", least=1, otherwise="no limit"
    )
    seed: int = setting(0, "Random seed for initial weights, batch order and noise.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_values(self)


@dataclass(frozen=True)
class Search:
    beam: int = setting(1, "Translations that are followed at a time; 1 is greedy.", least=1, most=1_000)
    length_penalty: float = setting(
        1.0, "Power of the length by which scores are divided when translations are compared.", least=0, most=10
    )
    sentences: int = setting(64, "Sentences that are translated at a time.", least=1, most=1_000_000)

    def __post_init__(self) -> None:
        check_types(self)


@dataclass(frozen=True)
class OtherWeights:
    weights: str | None = setting(
        None, "Weights in place of the model's own.", choices=KINDS, otherwise="its own", metavar="NAME"
    )
    site: tuple[str, ...] = setting(
        (),
        "Site whose weights are replaced: cross, encoder, decoder, across, or a layer such as across.0.",
        otherwise="all",
    )
    head: int | None = setting(None, "Number of the head whose weights are replaced.", least=0, otherwise="all")
    seed: int = setting(0, "Random seed for random and permuted weights.", least=0, most=LARGEST_SEED)

    def __post_init__(self) -> None:
        check_types(self)
        if self.weights is not None and self.weights not in KINDS:
            raise unknown_name("weights", self.weights, KINDS)
        if self.weights is None and (self.site or self.head is not None):
            raise InputError("`site` and `head` say where weights are replaced; say with `weights` by which.")


# its defaults that are not those above
TRANSFORMER: dict[str, Any] = {"hidden": 128, "layers": 4, "dropout": 0.15, "lr": 3e-3, "epochs": 20}


class TranslationSettings(NamedTuple):
    text: TranslationText
    model: TranslationModel
    training: TranslationTraining

    def as_dict(self) -> dict[str, Any]:
        """As JSON gives them back."""
        found: dict[str, Any] = json.loads(json.dumps({name: asdict(group) for name, group in self._asdict().items()}))
        return found


ONLY_FOR = {
    "score": ("luong",),
    "dimension": ("bahdanau", "luong"),
    "heads": ("transformer",),
    "wide": ("transformer",),
}
GROUPS: dict[str, type] = {"text": TranslationText, "model": TranslationModel, "training": TranslationTraining}


def translation_settings() -> dict[str, tuple[str, Setting]]:
    """Every setting by its name, with its group."""
    return {one.name: (group, one) for group, kind in GROUPS.items() for one in settings_of(kind)}


def sort_translation_settings(corpus: Corpus, given: Mapping[str, Any]) -> TranslationSettings:
    """Each setting to the group that has it; the corpus's recipe stands where nothing was given."""
    known = translation_settings()
    chosen: dict[str, dict[str, Any]] = {group: {} for group in GROUPS}
    chosen["text"] |= {name: value for name, value in corpus.recipe.items() if known.get(name, ("",))[0] == "text"}
    if given.get("model") == "transformer":
        for name, value in TRANSFORMER.items():
            chosen[known[name][0]][name] = value
    for name, value in given.items():
        if name not in known:
            raise unknown_name("setting of a translation model", name, known)
        group, one = known[name]
        chosen[group][name] = one.checked(value)
    return TranslationSettings(
        TranslationText(**chosen["text"]),
        TranslationModel(**chosen["model"]),
        TranslationTraining(**chosen["training"]),
    )
