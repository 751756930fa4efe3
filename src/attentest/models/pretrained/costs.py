"""What a pretrained network takes: bytes, and shares of a run of the whole.

A layer's tensors are counted in vectors of the model's width and of the widest inside of a layer, and in weights of a
head. The counts are rounded up from what BERT holds; the tests watch the tensors of other architectures, too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from attentest.models.protocol import Costs

if TYPE_CHECKING:
    from attentest.models.pretrained.model import Pretrained

# (vectors of the width, of the widest, weights of a head) that a position has at a time
KEPT = (6, 0, 3)  # of a text that was read
RUN = (10, 3, 6)  # in a layer, on top
GRAPH = (14, 5, 6)  # of each layer, while gradients are taken
OUTPUT = 4  # bytes of a weight outside of the network, which is in single precision whatever that computes in
VARIANT_COPIES, SEARCHED_COPIES = 10, 40  # of changed weights, on their way into the network and with gradients


def costs_of(model: Pretrained, site: str, length: int) -> Costs:
    layers, layer, stack = len(model.sites), list(model.sites).index(site), model.about.stack
    layout = model.layout
    added = 0 if layout.special else max(layout.single.size, layout.pair.size)
    positions, heads = length + added, model.heads[site]
    embeddings = next(model.embeddings.parameters())
    size = embeddings.element_size()
    width, widest = _widths(model)

    def held(counts: tuple[int, int, int]) -> int:
        return size * (counts[0] * width + counts[1] * widest + counts[2] * heads * positions)

    token = held(KEPT) + held(RUN)
    above = layers - layer if stack is not None else layers
    if site == model.sites[-1] and model.about.row_alone:
        row = OUTPUT * VARIANT_COPIES * heads * positions
        states = size * (RUN[0] * width + RUN[1] * widest)
        graph = size * (GRAPH[0] * width + GRAPH[1] * widest)
        decoding = 1 / (layers * positions)
        variant, searched = row + states, OUTPUT * SEARCHED_COPIES * heads * positions + graph
    else:
        rows = heads * positions * (1 if model.about.decision is not None and site == model.sites[-1] else positions)
        decoding = above / layers
        variant = OUTPUT * VARIANT_COPIES * rows + positions * token  # of a copy of the text
        searched = OUTPUT * SEARCHED_COPIES * rows + positions * (token + above * held(GRAPH))
    # of the last layer only the token that decides is run, where it can be run alone
    last = 1 / positions if model.about.row_alone and model.projection != "uniform" else 1.0
    whole = (layers - 1 + last) / layers
    reading = whole if site == model.sites[-1] else 1.0
    return Costs(
        token=token,
        graph=token + layers * held(GRAPH),
        layered=layers * size * width,
        variant=variant,
        searched=searched,
        added=added,
        reading=reading if stack is not None else layer / layers + 1.0,
        whole=whole,
        decoding=decoding,
        above=above / layers,
        reuses=stack is not None,
    )


def _widths(model: Pretrained) -> tuple[int, int]:
    """Of the states, and of the widest vector inside of a layer."""
    width = int(next(model.embeddings.parameters()).shape[1])
    stack = model.about.stack
    inside = model.network if stack is None else stack
    skipped = {id(parameter) for parameter in model.embeddings.parameters()}
    matrices = [p for p in inside.parameters() if p.dim() == 2 and id(p) not in skipped]
    return width, max((max(matrix.shape) for matrix in matrices), default=width)
