"""Models of the papers, each embed → encode → attend → decode."""

from typing import TYPE_CHECKING

from attentest.lazy import lazy_names

if TYPE_CHECKING:
    from attentest.models.alignments import ALIGNMENTS
    from attentest.models.build import make_model
    from attentest.models.classifier import Classifier
    from attentest.models.decoders import DECODERS
    from attentest.models.encoders import ENCODERS
    from attentest.models.hierarchical import EncodedDocument, Hierarchical
    from attentest.models.projections import PROJECTIONS
    from attentest.models.protocol import (
        AffineModel,
        AttentionModel,
        BiasModel,
        EmbeddingModel,
        EmptyTextModel,
        Encoded,
        HeadValuesModel,
        LayersModel,
        MultiSiteModel,
        PartsModel,
        ValuesModel,
        Weights,
        provides,
    )
    from attentest.models.settings import PAIRINGS, STRUCTURES, ModelSettings

__all__ = [
    "ALIGNMENTS",
    "DECODERS",
    "ENCODERS",
    "PAIRINGS",
    "PROJECTIONS",
    "STRUCTURES",
    "AffineModel",
    "AttentionModel",
    "BiasModel",
    "Classifier",
    "EmbeddingModel",
    "EmptyTextModel",
    "Encoded",
    "EncodedDocument",
    "HeadValuesModel",
    "Hierarchical",
    "LayersModel",
    "ModelSettings",
    "MultiSiteModel",
    "PartsModel",
    "ValuesModel",
    "Weights",
    "make_model",
    "provides",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "alignments": ["ALIGNMENTS"],
        "build": ["make_model"],
        "classifier": ["Classifier"],
        "decoders": ["DECODERS"],
        "encoders": ["ENCODERS"],
        "hierarchical": ["EncodedDocument", "Hierarchical"],
        "projections": ["PROJECTIONS"],
        "protocol": [
            "AffineModel",
            "AttentionModel",
            "BiasModel",
            "EmbeddingModel",
            "EmptyTextModel",
            "Encoded",
            "HeadValuesModel",
            "LayersModel",
            "MultiSiteModel",
            "PartsModel",
            "ValuesModel",
            "Weights",
            "provides",
        ],
        "settings": ["PAIRINGS", "STRUCTURES", "ModelSettings"],
    },
)
