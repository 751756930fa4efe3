"""A classifier without attention on the same texts."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from attentest.corpora.stored import FILE as CORPUS
from attentest.corpora.stored import open_corpus
from attentest.files import write_json
from attentest.progress import Listener
from attentest.text.settings import TextSettings
from attentest.training.baseline import baseline

FILE = "metrics.json"


def run(settings: Mapping[str, Any], inputs: Mapping[str, Path], out: Path, listener: Listener) -> None:
    write_json(out / FILE, baseline(open_corpus(inputs["corpus"] / CORPUS), TextSettings(**settings["text"])))
