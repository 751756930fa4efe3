"""Does a model do what the protocol says? Looked at on one batch, before any trial believes it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

from attentest.errors import InputError
from attentest.models.protocol import (
    AttentionModel,
    Encoded,
    MultiSiteModel,
    PartsModel,
    RowsModel,
    Weights,
    provides,
)
from attentest.models.rows import in_rows
from attentest.text.batches import Batch

METHODS = ("encode", "attend", "decode")
SUM_TOLERANCE = 1e-3  # of weights that should sum to 1; coarse number types get four of their own steps
ON_PADDING = 1e-6  # weight that rounding may leave there
REPEAT_TOLERANCE = 1e-4  # between two calls, relative to 1 + the largest value; noise on a GPU is far below


def check_protocol(model: object) -> None:
    """The three methods and the sites; nothing is called."""
    name = type(model).__name__
    if isinstance(model, type):
        raise InputError(f"The model is the class {model.__name__}; expected an instance of it.")
    missing = [method for method in METHODS if not callable(getattr(model, method, None))]
    if missing:
        raise InputError(
            f"The model is a {name} without {', '.join(missing)}; expected an object with the methods encode, attend "
            "and decode: see 'Your own model' in docs/getting-started.md."
        )
    sites = getattr(model, "sites", None)
    if isinstance(sites, str) or not _names(sites):
        raise InputError(
            f"{name}.sites is {sites!r}; expected the names of the places where the model attends: set "
            'sites = ("token",) in the class.'
        )


def check_model(
    model: AttentionModel, batch: Batch, classes: Sequence[str], ids: Sequence[str], site: str | None = None
) -> None:
    """Refuse a model that a trial would misread; `ids` name the texts of the batch in messages.

    The first wrong thing is told: what was seen, in which method, what was expected and what to do.
    """
    check_protocol(model)
    if isinstance(model, nn.Module) and model.training:
        raise InputError(f"{type(model).__name__} is in training mode, where dropout is on; call model.eval() first.")
    site = model.sites[-1] if site is None else site
    if provides(model, MultiSiteModel):
        model, batch = model.at_site(site, batch)
        site = site if site in model.sites else model.sites[0]
    look = _Look(model, batch, site, len(classes), ids)
    with torch.no_grad():
        encoded, weights, logits = look.once()
        again = look.once()
        look.repeats("attend", weights[site], again[1][site])
        look.repeats("decode", logits, again[2])
        other = look.decode(encoded, {site: look.uniform(encoded)})
        if _are_probabilities(logits) and _are_probabilities(other):
            raise look.error(
                "decode",
                f"gave probabilities, for instance {_shown(logits[0])}: each row sums to 1",
                "logits, from before the softmax",
                "leave the softmax out, or return probabilities.log()",
            )


class _Look:
    """One batch put through a model, each method's result looked at as it comes."""

    def __init__(self, model: AttentionModel, batch: Batch, site: str, classes: int, ids: Sequence[str]) -> None:
        self.model, self.batch, self.site, self.classes, self.ids = model, batch, site, classes, ids

    def once(self) -> tuple[Encoded, Weights, Tensor]:
        encoded = self.encode()
        weights = self.attend(encoded)
        return encoded, weights, self.decode(encoded, weights)

    def encode(self) -> Encoded:
        encoded = self.model.encode(self.batch)
        if not isinstance(encoded, Encoded):
            raise self.error("encode", f"gave a {type(encoded).__name__}", "an Encoded", "return Encoded(hidden, mask)")
        batch, tokens = self.batch.mask.shape
        states = f"a tensor of {batch} texts × {tokens} tokens × any size"
        self._tensor("encode", "hidden", encoded.hidden, 3, (batch, tokens), states)
        self._tensor("encode", "mask", encoded.mask, 2, (batch, tokens), "the batch's mask")
        if encoded.mask.dtype != torch.bool or (encoded.mask != self.batch.mask).any():
            raise self.error(
                "encode",
                "gave a mask that is not the batch's",
                "True on every token of a text and False on the padding after it: a text's tokens have no holes",
                "return batch.mask as it is; a token that should get no attention gets the weight 0 in attend",
            )
        self._finite("encode", "hidden states", encoded.hidden, encoded.mask)
        return encoded

    def attend(self, encoded: Encoded) -> Weights:
        weights = self.model.attend(encoded)
        if not isinstance(weights, Mapping):
            kind = f"tensor of shape {_shape(weights)}" if isinstance(weights, Tensor) else type(weights).__name__
            raise self.error(
                "attend", f"gave a {kind}", "the weights of each site by its name", f'return {{"{self.site}": weights}}'
            )
        missing = [site for site in self.model.sites if site not in weights]
        if missing:
            raise self.error(
                "attend",
                f"gave weights of {', '.join(map(repr, weights)) or 'no site'}",
                f"those of all sites, {', '.join(map(repr, self.model.sites))}",
                f"add {', '.join(map(repr, missing))} to the dict",
            )
        own, mask = self._rows(weights[self.site], encoded), encoded.mask
        self._tensor("attend", f"weights at '{self.site}'", own, 2, tuple(mask.shape), "one weight a token")
        self._finite("attend", "weights", own, mask)
        self._each_text(
            "attend",
            own.masked_fill(mask, 0).abs().amax(1) > ON_PADDING,
            lambda text: f"put {float(own[text][~mask[text]].abs().sum()):.3g} of the weight on padding",
            "weights of 0 wherever encoded.mask is False",
            "mask the scores before the softmax: scores.masked_fill(~encoded.mask, -torch.inf).softmax(-1)",
        )
        tolerance = max(SUM_TOLERANCE, 4 * torch.finfo(own.dtype).eps)
        self._each_text(
            "attend",
            own.amin(1) < -tolerance,
            lambda text: f"gave the weight {float(own[text].min()):.3g}",
            "weights of at least 0",
            "return the weights after the softmax, not the scores",
        )
        sums, real = self._sums(own, encoded)
        wrong = ((sums - 1).abs() > tolerance) & real
        self._each_text(
            "attend",
            wrong.any(1),
            lambda text: f"gave weights that sum to {float(sums[text][wrong[text]][0]):.4g}",
            f"weights that sum to 1 over {'each part of ' * provides(self.model, PartsModel)}the text",
            "end with a softmax over the tokens, or divide the weights by their sum",
        )
        return weights

    def _rows(self, weights: Tensor, encoded: Encoded) -> Tensor:
        """The mean of several rows of weights: what is wrong in one (NaN, weight on padding, a sum that is not 1) is
        wrong in it too."""
        if not provides(self.model, RowsModel):
            return weights
        shares = self.model.row_shares(encoded)
        if weights.shape[:-1] != shares.shape:
            raise self.error(
                "row_shares",
                f"gave shares of shape {_shape(shares)} for weights of shape {_shape(weights)}",
                "one for each row of weights",
                f"return a tensor of shape {' × '.join(map(str, weights.shape[:-1]))}",
            )
        return (weights * shares.unsqueeze(-1)).flatten(1, -2).sum(1)

    def decode(self, encoded: Encoded, weights: Weights) -> Tensor:
        logits = self.model.decode(encoded, weights)
        texts = len(self.batch)
        if isinstance(logits, Tensor) and tuple(logits.shape) in {(texts,), (texts, 1)} and self.classes > 1:
            raise self.error(
                "decode",
                f"gave a single logit a text (shape {_shape(logits)})",
                f"one for each of the {self.classes} classes",
                "of two classes the first has the logit 0: torch.stack((torch.zeros_like(logit), logit), -1)",
            )
        self._tensor("decode", "logits", logits, 2, (texts, self.classes), f"{texts} texts × {self.classes} classes")
        self._finite("decode", "logits", logits, torch.ones_like(logits, dtype=torch.bool))
        return logits

    def uniform(self, encoded: Encoded) -> Tensor:
        every = encoded.mask.to(encoded.hidden.dtype)
        sums, _ = self._sums(every, encoded)
        found = every / (sums.gather(1, self.model.parts(encoded)) if provides(self.model, PartsModel) else sums)
        return in_rows(found, self.model.row_shares(encoded).shape[1:]) if provides(self.model, RowsModel) else found

    def repeats(self, method: str, first: Tensor, second: Tensor) -> None:
        apart = float((first - second).abs().max())
        if apart > REPEAT_TOLERANCE * (1 + float(first.abs().max())):
            raise self.error(
                method,
                f"gave results that differ by up to {apart:.3g} when asked twice about the same batch",
                "the same result each time",
                "switch dropout and other noise off: model.eval()",
            )

    def error(self, method: str, seen: str, expected: str, remedy: str) -> InputError:
        return InputError(f"{type(self.model).__name__}.{method} {seen}; expected {expected}. To fix it: {remedy}.")

    def _sums(self, weights: Tensor, encoded: Encoded) -> tuple[Tensor, Tensor]:
        """Over each text, or over each part of it; and which of these there are."""
        if not provides(self.model, PartsModel):
            return weights.sum(1, keepdim=True), torch.ones_like(encoded.mask[:, :1])
        real = self.model.part_mask(encoded)
        return weights.new_zeros(real.shape).scatter_add(1, self.model.parts(encoded), weights), real

    def _tensor(
        self, method: str, what: str, value: object, dimensions: int, shape: tuple[int, ...], expected: str
    ) -> None:
        seen = f"shape {_shape(value)}" if isinstance(value, Tensor) else f"type {type(value).__name__}"
        if not isinstance(value, Tensor) or value.dim() != dimensions or tuple(value.shape[: len(shape)]) != shape:
            wanted = " × ".join(map(str, shape))
            raise self.error(method, f"gave {what} of {seen}", expected, f"return a tensor that begins with {wanted}")

    def _finite(self, method: str, what: str, values: Tensor, real: Tensor) -> None:
        broken = ~values.isfinite()
        broken = broken if broken.dim() == 2 else broken.any(-1)
        self._each_text(
            method,
            (broken & real).any(1),
            lambda text: f"gave {what} that are NaN or infinite",
            "finite numbers",
            "look for a division by 0, a logarithm of 0 or a softmax over -inf alone",
        )

    def _each_text(self, method: str, wrong: Tensor, seen: Callable[[int], str], expected: str, remedy: str) -> None:
        if wrong.any():
            text = int(wrong.nonzero()[0])
            raise self.error(method, f"{seen(text)} for the text with id '{self.ids[text]}'", expected, remedy)


def _names(sites: object) -> bool:
    return isinstance(sites, Sequence) and len(sites) > 0 and all(isinstance(site, str) for site in sites)


def _are_probabilities(logits: Tensor) -> bool:
    return bool((logits >= 0).all() and ((logits.sum(1) - 1).abs() < REPEAT_TOLERANCE).all())


def _shape(values: object) -> str:
    assert isinstance(values, Tensor)
    return " × ".join(map(str, values.shape)) or "()"


def _shown(row: Tensor) -> str:
    return f"({', '.join(f'{float(value):.3g}' for value in row[:4])}{', …' if len(row) > 4 else ''})"
