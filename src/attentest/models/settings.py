"""What a model is made of: every choice, in one place."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import PurePath

from attentest.errors import InputError, brief
from attentest.models.parts import Part, choose
from attentest.settings import check_values, setting

HIERARCHICAL = "hierarchical"
STRUCTURES = {
    "flat": Part("a text as one sequence of tokens (all papers)", lambda: None),
    HIERARCHICAL: Part(
        "words make sentences, sentences the document: HAN (Serrano & Smith 2019, Vashishth et al. 2019)", lambda: None
    ),
}
PAIRINGS = {
    "independent": Part(
        "the two texts of a pair are read apart (Jain & Wallace 2019, Vashishth et al. 2019)", lambda: None
    ),
    "conditional": Part(
        "the second text is read from where the first ended (Vashishth et al. 2019 eq. 3)", lambda: None
    ),
}
PRETRAINED_PROJECTIONS = ("softmax", "uniform")  # at every layer


def registries() -> dict[str, Mapping[str, Part]]:
    """What each setting that names a part chooses from; imported when asked for, as the parts need torch."""
    from attentest.models.alignments import ALIGNMENTS
    from attentest.models.decoders import DECODERS
    from attentest.models.encoders import ENCODERS
    from attentest.models.projections import PROJECTIONS, SELF_PROJECTIONS

    return {
        "encoder": ENCODERS,
        "alignment": ALIGNMENTS,
        "projection": PROJECTIONS,
        "self_projection": SELF_PROJECTIONS,
        "structure": STRUCTURES,
        "pairing": PAIRINGS,
        "decoder": DECODERS,
    }


def _parts(name: str) -> Callable[[], Mapping[str, Part]]:
    return lambda: registries()[name]


@dataclass(frozen=True)
class ModelSettings:
    encoder: str = setting(
        "bilstm",
        "Encoder: turns word vectors into hidden states (see 'attentest models').",
        choices=_parts("encoder"),
        metavar="NAME",
    )
    alignment: str = setting(
        "additive",
        "Alignment: scores the hidden states (see 'attentest models').",
        choices=_parts("alignment"),
        metavar="NAME",
    )
    projection: str = setting(
        "softmax",
        "Projection: turns scores into weights; NAME:PARAMETER sets its parameter (see 'attentest models').",
        choices=_parts("projection"),
        metavar="NAME",
    )
    hidden: int = setting(128, "Hidden size (per direction).", least=2, most=100_000)
    dropout: float = setting(
        0.0, "Share of the entries of word vectors that are set to 0 at random in training.", least=0, most=0.99
    )
    self_projection: str = setting(
        "softmax",
        "Projection inside a Transformer's self-attention.",
        choices=_parts("self_projection"),
        metavar="NAME",
    )
    structure: str = setting(
        "flat",
        "Structure: one sequence of tokens (flat), or words, then sentences (hierarchical).",
        choices=STRUCTURES,
    )
    pairing: str = setting(
        "independent",
        "Reading of the two texts of a pair: independent, or the second conditional on the first.",
        choices=PAIRINGS,
    )
    decoder: str = setting(
        "context",
        "Input of the classifier: the weighted text (context), a pair's question too (+query), or its mean (+mean).",
        choices=_parts("decoder"),
        metavar="NAME",
    )
    pretrained: str | None = setting(
        None,
        "Pretrained encoder to fine-tune instead of all these parts: a Hugging Face folder or hub name.",
        otherwise="",
        metavar="FOLDER|NAME",
    )

    def __post_init__(self) -> None:
        for name, registry in registries().items():
            choose(name, getattr(self, name), registry)
        check_values(self)
        if self.pairing == "conditional" and self.encoder != "bilstm":
            raise InputError(f"The pairing 'conditional' needs the encoder bilstm, not {self.encoder}.")
        if self.structure == HIERARCHICAL and self.decoder == "context+mean":
            raise InputError("The decoder 'context+mean' needs `structure='flat'`.")
        if self.structure == HIERARCHICAL and self.projection == "preset":
            raise InputError(
                "The projection 'preset' sets weights over the whole text, but a hierarchical model has weights within "
                "sentences; use `structure='flat'`."
            )

    def check_parts(self) -> None:
        """Refuse parts of our own beside a pretrained encoder; a record of a run is read without this."""
        if self.pretrained is None:
            return
        if not self.pretrained:
            raise InputError("pretrained is empty; give the folder or the hub name of an encoder.")
        for one in fields(self):
            given = getattr(self, one.name)
            if one.name not in ("pretrained", "projection") and given != one.default:
                raise InputError(f"A pretrained encoder has its own parts; {one.name} {brief(given)} cannot be set.")
        if self.projection not in PRETRAINED_PROJECTIONS:
            raise InputError(
                f"The projection '{self.projection}' is not possible in a pretrained encoder; choose "
                f"{' or '.join(PRETRAINED_PROJECTIONS)}."
            )

    @property
    def name(self) -> str:
        """As tables of published figures name it: encoder and alignment, and what a decoder sees beside the text."""
        if self.pretrained is not None:
            return PurePath(self.pretrained).name or self.pretrained
        encoder = "conditional" if self.pairing == "conditional" else self.encoder
        if self.structure == HIERARCHICAL:
            usual = (self.encoder, self.alignment) == ("bilstm", "additive")
            return "han" if usual else f"han-{encoder}+{self.alignment}"
        return f"{encoder}+{self.alignment}{self.decoder.removeprefix('context')}"


def refuse_added_parts(settings: ModelSettings) -> None:
    """A part that was added to a registry is known in this process alone, so work of other processes cannot use it."""
    for kind, registry in registries().items():
        part = getattr(settings, kind)
        made_in = registry[part.partition(":")[0]].make.__module__
        if made_in.partition(".")[0] != __name__.partition(".")[0]:
            raise InputError(
                f"The {kind} '{part}' was added to attentest in this program, and the steps of an audit, a study or "
                "a comparison run in other processes, which do not have it. Train the model and audit it in this "
                f"program instead: run = attentest.train(corpus, folder, {kind}='{part}'), then "
                "attentest.audit(attentest.trials.subject_of(run))."
            )
