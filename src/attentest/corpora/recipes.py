"""Classes and text settings of corpora that come in several forms: as a benchmark, in their layout, generated."""

from __future__ import annotations

NLI = ("entailment", "neutral", "contradiction")
NLI_RECIPE = {"digits": "qqq", "min_frequency": 3}
BABI_RECIPE = {"lower": False, "digits": "keep", "min_frequency": 1, "max_tokens": 2000, "answers": "closed"}
