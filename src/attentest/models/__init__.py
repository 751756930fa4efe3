"""Models of the papers, each embed → encode → attend → decode."""

from attentest.models.alignments import ALIGNMENTS
from attentest.models.classifier import Classifier, ModelSettings
from attentest.models.encoders import ENCODERS
from attentest.models.projections import PROJECTIONS
from attentest.models.protocol import AttentionModel, Encoded, Weights

__all__ = [
    "ALIGNMENTS",
    "ENCODERS",
    "PROJECTIONS",
    "AttentionModel",
    "Classifier",
    "Encoded",
    "ModelSettings",
    "Weights",
]
