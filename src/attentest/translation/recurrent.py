"""Recurrent encoder–decoders with attention: Bahdanau et al. 2015 (additive) and Luong et al. 2015 (general, dot).

What does not depend on the step is computed once for all steps: the attention's keys, the part of the decoder's gates
that comes from the target's word vectors, and, in `forced`, the output projection.
"""

from __future__ import annotations

from abc import abstractmethod

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from attentest.models.encoders import take as take_places
from attentest.models.encoders import turned_places
from attentest.translation.interventions import Steps, unchanged
from attentest.translation.model import Tensors, Translator
from attentest.translation.settings import TranslationModel

SITE = "cross"


class Encoder(nn.Module):
    """GRUs in both directions, one layer over the other; padding never reaches a real token's state."""

    def __init__(self, dimension: int, size: int, layers: int, drop: nn.Dropout) -> None:
        super().__init__()
        sizes = [dimension, *[2 * size] * (layers - 1)]
        self.forwards = nn.ModuleList(nn.GRU(width, size, batch_first=True) for width in sizes)
        self.backwards = nn.ModuleList(nn.GRU(width, size, batch_first=True) for width in sizes)
        self.drop = drop

    def forward(
        self, embedded: Float[Tensor, "batch tokens dimension"], mask: Bool[Tensor, "batch tokens"]
    ) -> tuple[Float[Tensor, "batch tokens hidden"], Float[Tensor, "batch hidden"]]:
        """The states of the last layer, and those in which its directions end."""
        turned = turned_places(mask)
        states = embedded
        for layer, (ahead, back) in enumerate(zip(self.forwards, self.backwards, strict=True)):
            states = self.drop(states) if layer else states
            states = torch.cat((ahead(states)[0], take_places(back(take_places(states, turned))[0], turned)), -1)
        first, second = states.chunk(2, -1)
        last = mask.sum(1) - 1
        return states, torch.cat((first[torch.arange(len(last), device=last.device), last], second[:, 0]), -1)


class Cell(nn.Module):
    """A GRU cell whose input comes in parts, some of them projected beforehand."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(size, 3 * size)

    def forward(
        self, gates: Float[Tensor, "batch gates"], state: Float[Tensor, "batch hidden"]
    ) -> Float[Tensor, "batch hidden"]:
        own = self.hidden(state)
        size = state.shape[1]
        reset, update = torch.sigmoid(gates[:, : 2 * size] + own[:, : 2 * size]).chunk(2, 1)
        new = torch.tanh(gates[:, 2 * size :] + reset * own[:, 2 * size :])
        return torch.lerp(new, state, update)


class Recurrent(Translator):
    """The parts that both models have; a subclass says what a step does."""

    def __init__(self, settings: TranslationModel, source_size: int, target_size: int) -> None:
        dimension, hidden, layers = settings.dimension, settings.hidden, settings.layers
        super().__init__(source_size, target_size, dimension, settings.dropout)
        self.heads = {SITE: 1}
        self.layers = layers
        self.encoder = Encoder(dimension, hidden // 2, layers, self.drop)
        self.first = nn.Linear(hidden, layers * hidden)
        self.enter = nn.Linear(dimension, 3 * hidden)
        self.cells = nn.ModuleList(Cell(hidden) for _ in range(layers))
        self.between = nn.ModuleList(nn.Linear(hidden, 3 * hidden) for _ in range(layers - 1))

    @abstractmethod
    def keys(self, hidden: Float[Tensor, "batch tokens hidden"]) -> Float[Tensor, "batch tokens key"]:
        """What scores need of the encoder's states, whatever the step."""

    @abstractmethod
    def scores(
        self, keys: Float[Tensor, "batch tokens key"], query: Float[Tensor, "batch hidden"]
    ) -> Float[Tensor, "batch tokens"]: ...

    @abstractmethod
    def advance(
        self, memory: Tensors, state: Tensors, gates: Float[Tensor, "batch gates"], number: int, steps: Steps
    ) -> Tensors:
        """The state after a step; `gates` is what the token before it adds to the first cell's."""

    @abstractmethod
    def read(self, states: Tensors, embedded: Float[Tensor, "*batch dimension"]) -> Float[Tensor, "*batch dimension"]:
        """Outputs, from the states after the steps and the tokens before them."""

    def encode(
        self, ids: Int[Tensor, "batch tokens"], mask: Bool[Tensor, "batch tokens"], steps: Steps = unchanged
    ) -> Tensors:
        hidden, last = self.encoder(self.drop(self.source(ids)), mask)
        return {"mask": mask, "hidden": hidden, "keys": self.keys(hidden), "last": last}

    def begin(self, memory: Tensors) -> Tensors:
        states = torch.tanh(self.first(memory["last"]))
        return {f"layer.{i}": part for i, part in enumerate(states.chunk(self.layers, 1))}

    def step(
        self, memory: Tensors, state: Tensors, tokens: Int[Tensor, "batch"], number: int, steps: Steps = unchanged
    ) -> tuple[Float[Tensor, "batch dimension"], Tensors]:
        embedded = self.drop(self.target(tokens))
        state = self.advance(memory, state, self.enter(embedded), number, steps)
        return self.read(state, embedded), state

    def forced(
        self, memory: Tensors, inputs: Int[Tensor, "batch steps"], steps: Steps = unchanged
    ) -> Float[Tensor, "batch steps dimension"]:
        embedded = self.drop(self.target(inputs))
        gates = self.enter(embedded)
        state = self.begin(memory)
        found: list[Tensors] = []
        for number in range(inputs.shape[1]):
            state = self.advance(memory, state, gates[:, number], number, steps)
            found.append(state)
        return self.read({name: torch.stack([one[name] for one in found], 1) for name in state}, embedded)

    def attended(
        self, memory: Tensors, query: Float[Tensor, "batch hidden"], number: int, steps: Steps
    ) -> Float[Tensor, "batch hidden"]:
        """The context at a step, from the weights that its change gives."""
        scores = self.scores(memory["keys"], query)
        weights = scores.masked_fill(~memory["mask"], -torch.inf).softmax(-1)
        rows = weights[:, None, None]
        new = steps(number)(SITE, rows, memory["mask"][:, None, None])
        return ((rows if new is None else new)[:, 0] @ memory["hidden"])[:, 0]

    def through_cells(self, state: Tensors, gates: Float[Tensor, "batch gates"]) -> Tensors:
        new: Tensors = {}
        for i, cell in enumerate(self.cells):
            new[f"layer.{i}"] = cell(gates, state[f"layer.{i}"])
            if i + 1 < self.layers:
                gates = self.between[i](self.drop(new[f"layer.{i}"]))
        return new

    @property
    def top(self) -> str:
        return f"layer.{self.layers - 1}"


class Bahdanau(Recurrent):
    """v·tanh(W s_{t−1} + U h): the state before a step asks, and the context enters the cell."""

    def __init__(self, settings: TranslationModel, source_size: int, target_size: int) -> None:
        super().__init__(settings, source_size, target_size)
        dimension, hidden = settings.dimension, settings.hidden
        self.key = nn.Linear(hidden, hidden // 2)
        self.query = nn.Linear(hidden, hidden // 2, bias=False)
        self.outer = nn.Linear(hidden // 2, 1, bias=False)
        self.context = nn.Linear(hidden, 3 * hidden, bias=False)
        self.leave = nn.Linear(2 * hidden + dimension, dimension)

    def keys(self, hidden: Float[Tensor, "batch tokens hidden"]) -> Float[Tensor, "batch tokens key"]:
        keys: Tensor = self.key(hidden)
        return keys

    def scores(
        self, keys: Float[Tensor, "batch tokens key"], query: Float[Tensor, "batch hidden"]
    ) -> Float[Tensor, "batch tokens"]:
        # tanh(x) = 2σ(2x) − 1, and sigmoid is faster on a CPU; what is added to all scores of a text changes no weight
        scores: Tensor = self.outer(torch.sigmoid(2 * (keys + self.query(query).unsqueeze(1))))
        return 2 * scores.squeeze(-1)

    def advance(
        self, memory: Tensors, state: Tensors, gates: Float[Tensor, "batch gates"], number: int, steps: Steps
    ) -> Tensors:
        context = self.attended(memory, state[self.top], number, steps)
        return self.through_cells(state, gates + self.context(context)) | {"context": context}

    def read(self, states: Tensors, embedded: Float[Tensor, "*batch dimension"]) -> Float[Tensor, "*batch dimension"]:
        joined = torch.cat((states[self.top], states["context"], embedded), -1)
        return self.drop(torch.tanh(self.leave(joined)))  # type: ignore[no-any-return]


class Luong(Recurrent):
    """s_t·W h (general) or s_t·h (dot): the state after the cell asks, and what is read enters the next step."""

    def __init__(self, settings: TranslationModel, source_size: int, target_size: int) -> None:
        super().__init__(settings, source_size, target_size)
        dimension, hidden = settings.dimension, settings.hidden
        self.key = nn.Linear(hidden, hidden, bias=False) if settings.score == "general" else nn.Identity()
        self.feed = nn.Linear(dimension, 3 * hidden, bias=False)
        self.leave = nn.Linear(2 * hidden, dimension)

    def keys(self, hidden: Float[Tensor, "batch tokens hidden"]) -> Float[Tensor, "batch tokens key"]:
        keys: Tensor = self.key(hidden)
        return keys

    def scores(
        self, keys: Float[Tensor, "batch tokens key"], query: Float[Tensor, "batch hidden"]
    ) -> Float[Tensor, "batch tokens"]:
        return (keys @ query.unsqueeze(-1)).squeeze(-1)

    def begin(self, memory: Tensors) -> Tensors:
        zeros = memory["hidden"].new_zeros(len(memory["hidden"]), self.leave.out_features)
        return super().begin(memory) | {"read": zeros}

    def advance(
        self, memory: Tensors, state: Tensors, gates: Float[Tensor, "batch gates"], number: int, steps: Steps
    ) -> Tensors:
        new = self.through_cells(state, gates + self.feed(state["read"]))
        context = self.attended(memory, new[self.top], number, steps)
        return new | {"read": torch.tanh(self.leave(torch.cat((context, new[self.top]), -1)))}

    def read(self, states: Tensors, embedded: Float[Tensor, "*batch dimension"]) -> Float[Tensor, "*batch dimension"]:
        return F.dropout(states["read"], self.drop.p, self.training)
