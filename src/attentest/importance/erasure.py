"""What a model makes of shorter texts: leave-one-out importance, how far the output moves when a token is taken out of
the text (Jain & Wallace 2019; Meister et al. 2021 eq. 6), and texts of which only some tokens are left."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from attentest.errors import unknown_name
from attentest.importance.lstm_erasure import removed_from_bilstm, renormalised
from attentest.importance.lstm_gradients import plain_bilstm
from attentest.models.evaluation import evaluating
from attentest.models.protocol import (
    AttentionModel,
    BiasModel,
    EmptyTextModel,
    WholeModel,
    added_tokens,
    hiding_id,
    provides,
)
from attentest.text.batches import Batch

REMOVALS = ("remove", "mask")
CACHED = 2_048  # tokens that a deep network reads at a time: the states of more would leave the processor's caches


def removed_probabilities(
    model: AttentionModel, batch: Batch, *, removal: str = "remove", tolerance: float = 1e-6, max_padded: int = 16_384
) -> Float[Tensor, "batch tokens classes"]:
    """ŷ₋ᵢ for every real token i: the model's probabilities when token i alone is gone; 0 on padding.

    "remove" makes the text shorter and runs the whole model again (both papers); "mask" puts <unk> in the token's
    place. Weights that came with the batch lose the removed token's, and the rest are renormalised. Where nothing
    is left of a text the context is 0: the softmax of the model's `bias()` (what a model of pairs makes of the question
    alone), or equal probabilities if it has none.

    A BiLSTM classifier re-runs only states that change, and only until they are within `tolerance` of what they
    were (0 runs every one to the end). No more than `max_padded` tokens, padding counted, are run at a time.
    """
    if removal not in REMOVALS:
        raise unknown_name("removal", removal, REMOVALS)
    max_padded = _at_once(model, batch, max_padded)
    from_states = removal == "remove" and plain_bilstm(model) is not None
    with evaluating(model), torch.inference_mode():
        lengths = batch.mask.sum(1)
        alone = (lengths == 1).nonzero().squeeze(1)
        without_context = _without_context(model, batch.select(alone if len(alone) else lengths.argmin().unsqueeze(0)))
        every = without_context.new_zeros(*batch.mask.shape, without_context.shape[1])
        if removal == "remove" and len(alone):
            every[alone, 0] = without_context
        for rows in _length_groups(lengths, max_padded, shortest=2 if removal == "remove" else 1):
            texts = batch.select(rows)
            if from_states:
                removed = removed_from_bilstm(model, texts, tolerance)  # type: ignore[arg-type]
            else:
                removed = _run_again(model, texts, removal, max_padded)
            every[rows, : removed.shape[1]] = removed
    return every.clone()  # made outside of inference mode: a tensor like any other


def leave_one_out(
    probabilities: Float[Tensor, "batch classes"],
    removed: Float[Tensor, "batch tokens classes"],
    mask: Bool[Tensor, "batch tokens"],
) -> Float[Tensor, "batch tokens"]:
    """TVD(ŷ, ŷ₋ᵢ) = ½ Σ|ŷ − ŷ₋ᵢ| of every token (Jain & Wallace 2019), 0 on padding."""
    return (probabilities.unsqueeze(1) - removed).abs().sum(-1).masked_fill(~mask, 0) / 2


def left_probabilities(
    model: AttentionModel,
    batch: Batch,
    texts: Int[Tensor, "copies"],
    kept: Bool[Tensor, "copies tokens"],
    *,
    max_padded: int = 16_384,
) -> Float[Tensor, "copies classes"]:
    """The model's probabilities for copies of the batch's texts of which only some tokens, one at least, are left.

    The copies are shorter texts, whose tokens keep their order, and the whole model runs on each; on copies that are
    the same only once. Weights that came with the batch are renormalised over what is left. No more than `max_padded`
    tokens, padding counted, are run at a time.
    """
    first, copy_of = _distinct(texts, kept)
    texts, kept = texts[first], kept[first]
    max_padded = _at_once(model, batch, max_padded)
    found: Tensor | None = None
    with evaluating(model), torch.inference_mode():
        for some in _length_groups(kept.sum(1) + _further(model, batch), max_padded, shortest=1):
            probabilities = whole_probabilities(model, _left_of(batch, texts[some], kept[some]))
            found = probabilities.new_empty(len(texts), probabilities.shape[1]) if found is None else found
            found[some] = probabilities
    assert found is not None
    return found[copy_of].clone()  # made outside of inference mode: a tensor like any other


def _distinct(
    texts: Int[Tensor, "copies"], kept: Bool[Tensor, "copies tokens"]
) -> tuple[Int[Tensor, "distinct"], Int[Tensor, "copies"]]:
    """The first copy of each kind, and the kind of every copy."""
    number = texts.cpu().numpy().astype(np.int64)[:, None].view(np.uint8)
    told = np.ascontiguousarray(np.concatenate((number, np.packbits(kept.cpu().numpy(), 1)), 1))
    _, first, kind = np.unique(told.view(f"V{told.shape[1]}")[:, 0], return_index=True, return_inverse=True)
    return torch.from_numpy(first).to(texts.device), torch.from_numpy(kind.ravel()).to(texts.device)


def _run_again(
    model: AttentionModel, batch: Batch, removal: str, max_padded: int
) -> Float[Tensor, "batch tokens classes"]:
    """The whole model on a copy of the text for each removal."""
    changed = _shortened if removal == "remove" else partial(_masked, hiding=hiding_id(model))
    texts, places = batch.mask.nonzero(as_tuple=True)
    copies = max(1, max_padded // (batch.mask.shape[1] + _further(model, batch)))
    chunks = zip(texts.split(copies), places.split(copies), strict=True)
    probabilities = torch.cat([whole_probabilities(model, changed(batch, *chunk)) for chunk in chunks])
    padded = probabilities.new_zeros(*batch.mask.shape, probabilities.shape[-1])
    padded[texts, places] = probabilities
    return padded


def _shortened(batch: Batch, texts: Int[Tensor, "copies"], places: Int[Tensor, "copies"]) -> Batch:
    """A copy of a text for each place, without the token there."""
    every = torch.arange(batch.mask.shape[1], device=texts.device)
    return _left_of(batch, texts, batch.mask[texts] & (every != places.unsqueeze(1)))


def _left_of(batch: Batch, texts: Int[Tensor, "copies"], kept: Bool[Tensor, "copies tokens"]) -> Batch:
    """A copy of a text for each set of tokens that are kept, which move together."""
    lengths = kept.sum(1, keepdim=True)
    order = (~kept).byte().argsort(dim=1, stable=True)[:, : int(lengths.max())]
    mask = torch.arange(order.shape[1], device=texts.device) < lengths
    copies = batch.take(texts)
    preset = None if copies.preset is None else renormalised(copies.preset.gather(1, order), mask)
    sentences = None if copies.sentences is None else copies.sentences.gather(1, order)
    places = None if copies.places is None else copies.places.gather(1, order)
    ids = copies.ids.gather(1, order)
    return replace(copies, ids=ids, mask=mask, preset=preset, sentences=sentences, places=places)


def _masked(batch: Batch, texts: Int[Tensor, "copies"], places: Int[Tensor, "copies"], hiding: int) -> Batch:
    """A copy of a text for each place, with the token that hides others there."""
    copies = batch.select(texts)
    return replace(copies, ids=copies.ids.scatter(1, places.unsqueeze(1), hiding))


def _length_groups(lengths: Int[Tensor, "batch"], max_padded: int, shortest: int) -> Iterator[Int[Tensor, "group"]]:
    """Texts of at least `shortest` tokens, shortest first, at most `max_padded` tokens a group."""
    ordered, order = lengths.sort(stable=True)
    order = order[ordered >= shortest]
    while len(order):
        upcoming = lengths[order[:max_padded]]
        # the last text of a group is its longest
        fitting = torch.arange(1, len(upcoming) + 1, device=order.device) * upcoming <= max_padded
        size = max(1, int(fitting.sum()))
        yield order[:size]
        order = order[size:]


def _further(model: AttentionModel, batch: Batch) -> int:
    """Tokens that are read with each text: those of the second one, and those that the model adds."""
    second = 0 if batch.second_mask is None else batch.second_mask.shape[1]
    return second + added_tokens(model)


def _at_once(model: AttentionModel, batch: Batch, max_padded: int) -> int:
    """Networks that run in one piece have many layers, each of which goes over all states again."""
    on_cpu = batch.ids.device.type == "cpu"
    return min(max_padded, CACHED) if on_cpu and provides(model, WholeModel) else max_padded


def whole_probabilities(model: AttentionModel, batch: Batch) -> Float[Tensor, "batch classes"]:
    """Of the whole model, run anew."""
    if provides(model, WholeModel):
        return model.whole(batch).softmax(-1)
    encoded = model.encode(batch)
    return model.decode(encoded, model.attend(encoded)).softmax(-1)


def _without_context(model: AttentionModel, batch: Batch) -> Float[Tensor, "batch classes"]:
    if provides(model, EmptyTextModel):
        return model.decode_empty(model.encode(batch)).softmax(-1)
    if provides(model, BiasModel):
        return model.bias().softmax(-1).expand(len(batch), -1)
    longest = batch.mask.sum(1).argmax().unsqueeze(0)
    probabilities = whole_probabilities(model, batch.select(longest))[0]
    return torch.full_like(probabilities, 1 / len(probabilities)).expand(len(batch), -1)
