"""Stanford Sentiment Treebank, as its parse trees: train.txt, dev.txt and test.txt, one tree a line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from attentest.corpora.build import build_corpus
from attentest.corpora.corpus import SPLITS, Corpus
from attentest.corpora.layouts.reading import need, read_lines, shorten
from attentest.errors import InputError

FINE = ("very negative", "negative", "neutral", "positive", "very positive")
NEUTRAL = 2
_PIECE = re.compile(r"[()]|[^\s()]+")


def load(path: Path, fine: bool = False) -> Corpus:
    """Sentences with the label of the tree's root: negative or positive, or all five classes if `fine`.

    Without `fine`, labels 0 and 1 are negative, 3 and 4 positive, and neutral sentences are dropped.
    """
    files = [f"{split}.txt" for split in SPLITS]
    need(path, "SST", files)
    columns: dict[str, list[Any]] = {"id": [], "split": [], "text": [], "label": []}
    neutral = 0
    for split, name in zip(SPLITS, files, strict=True):
        for number, line in read_lines(path / name, "SST"):
            root, leaves = _read_tree(line, f"{path / name}, line {number}")
            if root == NEUTRAL and not fine:
                neutral += 1
                continue
            columns["id"].append(f"{split}/{number}")
            columns["split"].append(split)
            columns["text"].append(" ".join(leaves))
            columns["label"].append(root if fine else int(root > NEUTRAL))
    return build_corpus(
        "sst5" if fine else "sst",
        columns,
        classes=FINE if fine else ("negative", "positive"),
        recipe={"lower": True, "digits": "keep", "min_frequency": 1, "min_tokens": 6},
        notes=[f"Dropped {neutral:,} neutral sentences."] if neutral else [],
    )


def _read_tree(line: str, where: str) -> tuple[int, list[str]]:
    """The root's label and the words of one tree, such as `(3 (2 It) (4 works))`."""
    pieces = _PIECE.findall(line)
    depth, labels, leaves = 0, [], []
    for position, piece in enumerate(pieces):
        before = pieces[position - 1] if position else ""
        if piece == "(":
            depth += 1
        elif piece == ")":
            depth -= 1
        elif before == "(":
            labels.append(piece)
        else:
            leaves.append(piece)
        if depth == 0 and position < len(pieces) - 1:
            break
    # every bracket opens with a label: the end was reached with all of them closed
    whole = depth == 0 and pieces[-1] == ")" and position == len(pieces) - 1
    if not whole or len(labels) != pieces.count("(") or not set(labels) <= set("01234") or not leaves:
        raise InputError(
            f"SST: {where} is '{shorten(line)}'; expected one tree with labels 0 to 4, like (3 (2 It) (4 works))."
        )
    return int(labels[0]), leaves
