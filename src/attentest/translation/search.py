"""Translations: greedy and beam search over batches, and the scores of given translations (forced decoding).

Padding, unknown words and the start are never chosen; probabilities are those over all tokens.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.translation.interventions import Recorder, Steps, unchanged
from attentest.translation.model import Tensors, Translator, take
from attentest.translation.tokens import END, PAD, START, UNKNOWN

FORBIDDEN = (PAD, UNKNOWN, START)
Ids = Int[Tensor, "batch tokens"]
Mask = Bool[Tensor, "batch tokens"]
StepsOf = Callable[[Int[np.ndarray, "batch"]], Steps]  # from the texts of a batch: what happens to their weights


def leave(texts: Int[np.ndarray, "batch"]) -> Steps:
    return unchanged


@dataclass(frozen=True)
class Hypothesis:
    """A translation: its tokens without the end, the sum of their log-probabilities, and whether it reached its end."""

    tokens: tuple[int, ...]
    score: float
    ended: bool

    def normalised(self, penalty: float) -> float:
        """Its score by its length to the power of `penalty`; the end counts as a token."""
        return float(self.score / max(1, len(self.tokens) + self.ended) ** penalty)


def most_tokens(lengths: Int[Tensor, "batch"]) -> Int[Tensor, "batch"]:
    """How long a translation may get: it depends on its own source alone."""
    return 2 * lengths + 10


@torch.no_grad()
def greedy(
    model: Translator, ids: Ids, mask: Mask, texts: Int[np.ndarray, "batch"], steps_of: StepsOf = leave
) -> list[Hypothesis]:
    """The likeliest token at each step; texts that are done leave the batch."""
    memory = model.encode(ids, mask, steps_of(texts))
    state = model.begin(memory)
    limits = most_tokens(mask.sum(1))
    there = torch.arange(len(ids), device=ids.device)  # places of the texts that are not done
    chosen = torch.full((len(ids), int(limits.max())), END, device=ids.device)
    scores = torch.zeros(len(ids), dtype=torch.float64, device=ids.device)
    tokens = ids.new_full((len(ids),), START)
    ended = torch.zeros(len(ids), dtype=torch.bool, device=ids.device)
    steps = steps_of(texts)
    number = 0
    while len(there):
        outputs, state = model.step(memory, state, tokens, number, steps)
        best, likeliest = _likeliest(model, outputs, 1)
        tokens = likeliest[:, 0]
        scores[there] += best[:, 0]
        chosen[there, number] = tokens
        ended[there] = tokens == END
        number += 1
        kept = ((tokens != END) & (number < limits[there])).nonzero()[:, 0]
        if len(kept) < len(there):
            memory, state, tokens, there = take(memory, kept), take(state, kept), tokens[kept], there[kept]
            steps = steps_of(texts[there.cpu().numpy()])
    lengths = (chosen != END).long().cumprod(1).sum(1)
    return [
        Hypothesis(tuple(row[: int(n)].tolist()), float(score), bool(end))
        for row, n, score, end in zip(chosen.cpu(), lengths, scores, ended, strict=True)
    ]


@torch.no_grad()
def beam_search(
    model: Translator,
    ids: Ids,
    mask: Mask,
    texts: Int[np.ndarray, "batch"],
    steps_of: StepsOf = leave,
    *,
    beam: int = 5,
    penalty: float = 1.0,
) -> list[Hypothesis]:
    """The best of the translations that a beam finds, by `normalised`.

    At each step the `beam` best ways to continue are looked at: those that end leave, and the best that do not end take
    their places. A text is done when `beam` have ended, or at its largest length; one without an end is taken only if
    there is no other.
    """
    size = model.target.num_embeddings
    memory = _repeated(model.encode(ids, mask, steps_of(texts)), beam)
    state = model.begin(memory)
    limits = most_tokens(mask.sum(1)).tolist()
    there = list(range(len(ids)))
    done: list[list[Hypothesis]] = [[] for _ in there]
    device = ids.device
    scores = torch.full((len(ids), beam), -torch.inf, dtype=torch.float64, device=device)
    scores[:, 0] = 0  # all beams are the same at first
    history = ids.new_zeros(len(ids), beam, 0)
    tokens = ids.new_full((len(ids) * beam,), START)
    steps = steps_of(np.repeat(texts, beam))
    number = 0
    while there:
        outputs, state = model.step(memory, state, tokens, number, steps)
        number += 1
        # the best of all are among the best of each beam; at most `beam` of these end
        each, words = (found.view(len(there), beam, -1) for found in _likeliest(model, outputs, min(2 * beam, size)))
        best, places = (scores.unsqueeze(-1) + each).flatten(1).topk(min(2 * beam, each.shape[1] * each.shape[2]))
        parents, new = places // each.shape[2], words.flatten(1).gather(1, places)
        ends = (new == END) & (best > -torch.inf)
        for row, place in ends[:, :beam].nonzero().tolist():
            before = history[row, parents[row, place]].tolist()
            done[there[row]].append(Hypothesis(tuple(before), float(best[row, place]), True))
        order = (new == END).to(torch.int8).argsort(dim=1, stable=True)[:, :beam]  # those that do not end, best first
        scores, parents, new = (values.gather(1, order) for values in (best, parents, new))
        scores = scores.masked_fill(new == END, -torch.inf)
        history = torch.cat((history.gather(1, parents[..., None].expand(-1, -1, number - 1)), new[..., None]), 2)
        kept = [row for row, text in enumerate(there) if len(done[text]) < beam and number < limits[text]]
        for row in sorted(set(range(len(there))) - set(kept)):
            done[there[row]] = done[there[row]] or _unfinished(history[row], scores[row])
        rows = torch.tensor(kept, dtype=torch.long, device=device)
        state = take(state, (parents[rows] + rows[:, None] * beam).flatten())
        if len(kept) < len(there):
            memory = take(memory, (torch.arange(beam, device=device) + rows[:, None] * beam).flatten())
            scores, new, history = scores[rows], new[rows], history[rows]
            there = [there[row] for row in kept]
            steps = steps_of(np.repeat(texts[there], beam))
        tokens = new.flatten()
    return [max(found, key=lambda one: one.normalised(penalty)) for found in done]


@dataclass(frozen=True)
class Forced:
    """Given translations: log-probabilities of their tokens and of the end, and weights by site."""

    scores: Float[Tensor, "batch steps"]  # 0 on padding
    weights: dict[str, Float[Tensor, "batch heads queries keys"]]


@torch.no_grad()
def forced_decoding(
    model: Translator,
    ids: Ids,
    mask: Mask,
    targets: Ids,
    texts: Int[np.ndarray, "batch"],
    steps_of: StepsOf = leave,
) -> Forced:
    """`targets` end with the end, and are filled up with padding."""
    recorder = Recorder(steps_of(texts))
    outputs = model.forced(model.encode(ids, mask, recorder), shifted(targets), recorder)
    found = model.project(outputs).log_softmax(-1).gather(-1, targets.unsqueeze(-1)).squeeze(-1)
    return Forced(found * (targets != PAD), recorder.weights())


def shifted(targets: Ids) -> Ids:
    """What is put in at each step: the start, and then the token that should have come out before."""
    return torch.cat((targets.new_full((len(targets), 1), START), targets[:, :-1]), 1)


def _likeliest(
    model: Translator, outputs: Float[Tensor, "batch dimension"], count: int
) -> tuple[Float[Tensor, "batch count"], Int[Tensor, "batch count"]]:
    """Log-probabilities in double precision, and tokens; what may not come out is never among them, if it can be."""
    found = model.project(outputs).log_softmax(-1)
    found[:, FORBIDDEN] = -torch.inf
    if count == 1:  # faster than the best of many
        best, tokens = found.max(-1, keepdim=True)
    else:
        best, tokens = found.topk(count)
    return best.double(), tokens


def _repeated(tensors: Tensors, times: int) -> Tensors:
    return {name: value.repeat_interleave(times, 0) for name, value in tensors.items()}


def _unfinished(history: Int[Tensor, "beam tokens"], scores: Float[Tensor, "beam"]) -> list[Hypothesis]:
    return [
        Hypothesis(tuple(tokens), float(score), False)
        for tokens, score in zip(history.tolist(), scores.tolist(), strict=True)
        if score > -torch.inf
    ]
