"""Models of the papers, each embed → encode → attend → decode."""

from attentest.models.alignments import ALIGNMENTS
from attentest.models.classifier import Classifier, ModelSettings
from attentest.models.encoders import ENCODERS
from attentest.models.hierarchical import EncodedDocument, Hierarchical
from attentest.models.projections import PROJECTIONS
from attentest.models.protocol import AttentionModel, Encoded, Weights
from attentest.models.structures import STRUCTURES, make_model

__all__ = [
    "ALIGNMENTS",
    "ENCODERS",
    "PROJECTIONS",
    "STRUCTURES",
    "AttentionModel",
    "Classifier",
    "Encoded",
    "EncodedDocument",
    "Hierarchical",
    "ModelSettings",
    "Weights",
    "make_model",
]
