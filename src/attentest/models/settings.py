"""What a model is made of: every choice, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from attentest.errors import InputError
from attentest.models.alignments import ALIGNMENTS
from attentest.models.decoders import DECODERS
from attentest.models.encoders import ENCODERS
from attentest.models.parts import Part, choose
from attentest.models.projections import PROJECTIONS, SELF_PROJECTIONS

HIERARCHICAL = "hierarchical"
STRUCTURES = {
    "flat": Part("a text as one sequence of tokens (all papers)", lambda: None),
    HIERARCHICAL: Part("words make sentences, sentences the document: HAN (SS, VA)", lambda: None),
}
PAIRINGS = {
    "independent": Part("the two texts of a pair are read apart (JW, VA)", lambda: None),
    "conditional": Part("the second text is read from where the first ended (Rocktäschel; VA eq. 3)", lambda: None),
}


REGISTRIES = {
    "encoder": ENCODERS,
    "alignment": ALIGNMENTS,
    "projection": PROJECTIONS,
    "self_projection": SELF_PROJECTIONS,
    "structure": STRUCTURES,
    "pairing": PAIRINGS,
    "decoder": DECODERS,
}
_SHIPPED = {setting: dict(registry) for setting, registry in REGISTRIES.items()}  # before anyone could add to them


@dataclass(frozen=True)
class ModelSettings:
    encoder: str = "bilstm"
    alignment: str = "additive"
    projection: str = "softmax"
    hidden: int = 128  # size of the states; of each direction of a BiLSTM
    self_projection: str = "softmax"  # of the Transformer's own attention
    structure: str = "flat"
    pairing: str = "independent"  # of the two texts of a pair
    decoder: str = "context"

    def __post_init__(self) -> None:
        for setting, registry in REGISTRIES.items():
            choose(setting.removeprefix("self_"), getattr(self, setting), registry)
        if self.pairing == "conditional" and self.encoder != "bilstm":
            raise InputError(
                f"The pairing 'conditional' needs the encoder bilstm, whose states go on; not {self.encoder}."
            )
        if self.structure == HIERARCHICAL and self.projection in ("preset", "random"):
            raise InputError(
                f"The projection '{self.projection}' gives every token its share of the whole text, and a hierarchical "
                "model has weights within sentences; use it with a flat one."
            )
        if self.hidden < 2:
            raise InputError(f"hidden is {self.hidden}; it must be at least 2.")

    @property
    def name(self) -> str:
        """As tables of published figures name it: encoder and alignment, and what a decoder sees beside the text."""
        encoder = "conditional" if self.pairing == "conditional" else self.encoder
        if self.structure == HIERARCHICAL:
            usual = (self.encoder, self.alignment) == ("bilstm", "additive")
            return "han" if usual else f"han-{encoder}+{self.alignment}"
        return f"{encoder}+{self.alignment}" + ("+query" if self.decoder == "context+query" else "")


def refuse_added_parts(settings: ModelSettings) -> None:
    """A part that was added to a registry is known in this process alone, so work of other processes cannot use it."""
    for setting, registry in REGISTRIES.items():
        part, name = getattr(settings, setting), getattr(settings, setting).partition(":")[0]
        if registry[name] is not _SHIPPED[setting].get(name):
            raise InputError(
                f"The {setting} '{part}' was added to attentest in this program, and the steps of an audit, a study or "
                "a comparison run in other processes, which do not have it. Train the model and audit it in this "
                f"program instead: run = attentest.train(corpus, folder, {setting}='{part}'), then "
                "attentest.audit(attentest.trials.subject_of(run))."
            )
