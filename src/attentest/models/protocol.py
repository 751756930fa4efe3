"""The one protocol, a model that has these three methods can be put on trial, and what a model can do beyond it.

Each capability is a protocol of its own, and `provides` is how one is asked for. A model without any of them takes the
general path, which gives the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeGuard, TypeVar, runtime_checkable

from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.text.batches import Batch
from attentest.text.vocabulary import UNKNOWN

Weights = Mapping[str, Float[Tensor, "batch *rows tokens"]]  # site -> weights; rows are heads, or heads × queries


@dataclass(frozen=True)
class Encoded:
    """What the expensive part of a model gives: everything that does not depend on attention weights."""

    hidden: Float[Tensor, "batch tokens hidden"]
    mask: Bool[Tensor, "batch tokens"]
    preset: Float[Tensor, "batch tokens"] | None = None
    query: Float[Tensor, "batch hidden"] | None = None  # what the other text of a pair asks
    forbidden: Bool[Tensor, "batch classes"] | None = None  # answers that the text does not have

    def take(self, places: Int[Tensor, "chosen"] | slice) -> Encoded:
        """These texts of the batch only."""
        return replace(self, **{name: value[places] for name, value in vars(self).items() if value is not None})


@runtime_checkable
class AttentionModel(Protocol):
    """encode once, attend, and decode as often as weights are changed.

    A model of several sites may be given the weights of one of them and finds the others itself.
    """

    @property
    def sites(self) -> Sequence[str]: ...  # read only, so that a list or a tuple will do

    def encode(self, batch: Batch) -> Encoded: ...

    def attend(self, encoded: Encoded) -> Weights: ...

    def decode(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch classes"]: ...


@runtime_checkable
class BiasModel(AttentionModel, Protocol):
    """Knows its output for a context of zeros: what is left of a text whose every token was removed."""

    def bias(self) -> Float[Tensor, "classes"]: ...


@runtime_checkable
class AffineModel(BiasModel, Protocol):
    """Its decoder is affine in the weights, so that what each token adds is known beforehand."""

    def token_logits(self, encoded: Encoded) -> Float[Tensor, "batch tokens classes"]:
        """What each token adds to the logits at weight 1: decode(α) = α @ token_logits + bias."""


@runtime_checkable
class ValuesModel(AttentionModel, Protocol):
    """A nonlinearity follows an affine map, so the weights act on values: decode(α) = finish(α @ values)."""

    def values(self, encoded: Encoded) -> Float[Tensor, "batch tokens size"]: ...

    def finish(
        self, weighted: Float[Tensor, "batch *variants size"], encoded: Encoded
    ) -> Float[Tensor, "batch *variants classes"]: ...


@runtime_checkable
class EmbeddingModel(AttentionModel, Protocol):
    """Can be differentiated by its inputs: the embedded tokens can be replaced."""

    def embed(self, ids: Int[Tensor, "batch tokens"]) -> Float[Tensor, "batch tokens dimension"]: ...

    def encode_embedded(self, embedded: Float[Tensor, "batch tokens dimension"], batch: Batch) -> Encoded:
        """As `encode`, with these embeddings instead of the batch's own."""


@runtime_checkable
class EmptyTextModel(AttentionModel, Protocol):
    """Knows its output for a text without tokens where that depends on more than a bias: on the question of a pair."""

    def decode_empty(self, encoded: Encoded) -> Float[Tensor, "batch classes"]: ...


@runtime_checkable
class WholeModel(AttentionModel, Protocol):
    """Runs faster in one piece, where nobody looks at its weights."""

    def whole(self, batch: Batch) -> Float[Tensor, "batch classes"]:
        """Logits under the model's own weights."""


@dataclass(frozen=True)
class Costs:
    """What a model takes for texts of a length, about: bytes, and shares of a run of the whole network on a text."""

    token: int  # bytes of each position of the texts that are read at a time: kept, and in a run
    graph: int  # the same while gradients are taken through the whole
    layered: int  # more, where the states of every layer are kept
    variant: int  # bytes of a text whose weights are decoded, for each variant of them
    searched: int  # the same while gradients are taken by the variants
    added: int = 0  # positions that the model adds to a text
    reading: float = 1.0  # of a run, to encode a text and decode it
    whole: float = 1.0  # to run a text anew: a part of the last layer may be left out
    decoding: float = 1.0  # to decode one variant
    above: float = 1.0  # from the site on, all positions
    reuses: bool = False  # whether layers below a change need not run again


@runtime_checkable
class SizedModel(AttentionModel, Protocol):
    """Knows about how much it takes."""

    def costs(self, length: int, site: str | None = None) -> Costs:
        """For texts of this length, looked at from this site [the last]."""


@runtime_checkable
class HidingModel(AttentionModel, Protocol):
    """Has a token of its own that stands for one that is hidden."""

    def hiding_id(self) -> int: ...


@runtime_checkable
class MultiSiteModel(AttentionModel, Protocol):
    """Has sites whose items differ (words, sentences), and can be seen from each of them."""

    def at_site(self, site: str, batch: Batch) -> tuple[AttentionModel, Batch]:
        """The model whose only weights are those of the site, and the batch of the site's items."""


@runtime_checkable
class VariantsModel(AttentionModel, Protocol):
    """Decodes many variants of the weights of a text at once."""

    def decode_variants(
        self,
        encoded: Encoded,
        weights: Float[Tensor, "chosen variants *rows first"],
        places: Int[Tensor, "chosen"] | None = None,
    ) -> Float[Tensor, "chosen variants classes"]:
        """Logits under several variants of the tokens' weights; those of the first tokens, if the rest are 0."""


@runtime_checkable
class RowsModel(VariantsModel, Protocol):
    """Has several rows of weights over the tokens of a text, one for each head, or for each head and query."""

    def row_shares(self, encoded: Encoded) -> Float[Tensor, "batch *rows"]:
        """How much each row counts: they sum to 1, and those of padding have 0."""

    def explained(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch tokens"]:
        """What the weights say of each token together: what is shown to people as attention."""


Change = Callable[
    [str, Float[Tensor, "batch heads queries keys"], Bool[Tensor, "batch heads queries keys"]],
    Float[Tensor, "batch heads queries keys"] | None,
]  # (site, its weights, which of them are allowed) -> other weights, or None to leave these


@runtime_checkable
class LayersModel(AttentionModel, Protocol):
    """Attends in layers: weights of one change what the next sees, so a change is called as each site is reached."""

    @property
    def heads(self) -> Mapping[str, int]: ...  # site -> number of heads

    def changed(
        self, batch: Batch, change: Change, sites: Collection[str] | None = None
    ) -> Float[Tensor, "batch classes"]:
        """Logits while `change` replaces the weights at these sites, or at all; it gets all texts of the batch."""


@runtime_checkable
class HeadValuesModel(LayersModel, Protocol):
    """Tells what the weights of each head act on, so that other weights with the same output can be found."""

    def values_at(
        self, batch: Batch, site: str
    ) -> tuple[
        Float[Tensor, "batch heads queries keys"],
        Float[Tensor, "batch heads keys size"] | None,
        Bool[Tensor, "batch heads queries keys"],
    ]:
        """The model's weights at a site, the values that they weight (None if unknown), and what is allowed."""

    def special_keys(self, batch: Batch) -> Bool[Tensor, "batch keys"]:
        """True on the keys that the model adds to the text."""


@runtime_checkable
class PartsModel(VariantsModel, Protocol):
    """Its weights sum to 1 within each part of a text (the words of a sentence), and parts are weighted in turn."""

    def parts(self, encoded: Encoded) -> Int[Tensor, "batch tokens"]:
        """The number of the part that each token stands in, from 0."""

    def part_mask(self, encoded: Encoded) -> Bool[Tensor, "batch parts"]:
        """True on the parts that a text has."""

    def shares(self, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch tokens"]:
        """Each token's share of the whole text's attention; `weights` are those of all sites."""


Capability = TypeVar("Capability", bound=AttentionModel)


def attention_of(model: AttentionModel, encoded: Encoded, weights: Weights) -> Float[Tensor, "batch tokens"]:
    """One weight for each token: of the first site, or what all heads say together."""
    return model.explained(encoded, weights) if provides(model, RowsModel) else weights[model.sites[0]]


def added_tokens(model: AttentionModel) -> int:
    """How many positions the model adds to each text."""
    return model.costs(1).added if provides(model, SizedModel) else 0


def hiding_id(model: AttentionModel) -> int:
    """The token that stands for a hidden one: the model's own, or that of unknown words."""
    return model.hiding_id() if provides(model, HidingModel) else UNKNOWN


def provides(model: object, capability: type[Capability]) -> TypeGuard[Capability]:
    """Whether the model has every method of a capability.

    From Python 3.12 on, isinstance does not see methods that are submodules of an nn.Module (`self.embed =
    nn.Embedding(…)`) or that a wrapper such as torch.compile passes on; this does.
    """
    members = (member for kind in capability.__mro__ for member in vars(kind).items())
    methods = {name for name, member in members if callable(member) and not name.startswith("_")}
    return all(callable(getattr(model, name, None)) for name in methods)
