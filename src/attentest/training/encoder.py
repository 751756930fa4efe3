"""A pretrained encoder on its way into a run's folder, and out of it again: the folder needs nothing else."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from attentest.corpora.corpus import Corpus
from attentest.errors import InputError
from attentest.files import hash_of, is_folder, make_folder, read_as, read_json, write_json
from attentest.models.settings import ModelSettings
from attentest.text.prepare import Report, TokenizedCorpus
from attentest.training.folder import CONFIG, LAYOUT, PIECES

OF_BASE = ("config.json", "*.safetensors", "tokenizer*", "vocab*", "merges.txt", "*.model", "special_tokens_map.json")
