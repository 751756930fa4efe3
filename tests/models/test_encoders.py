"""Encoders against other ways to compute the same states, one text at a time and without padding."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attentest.errors import InputError
from attentest.models.encoders import CNN, ENCODERS, MLP, Average, BiLSTM, make_encoder
from attentest.models.projections import Projection
from attentest.models.transformer import SelfAttentionLayer, TransformerEncoder, sinusoids

DIMENSION, HIDDEN = 6, 8
RAGGED = [[1], [5, 1, 3], [4, 4], [1, 2, 17, 9, 1, 6]]  # lengths of the texts of each batch


@pytest.fixture(params=RAGGED, ids=str)
def batch(request: pytest.FixtureRequest) -> tuple[Tensor, Tensor]:
    """Embedded texts with anything but zeros on the padding, and their mask."""
    lengths = torch.tensor(request.param)
    generator = torch.Generator().manual_seed(int(lengths.sum()))
    embedded = torch.randn(len(lengths), int(lengths.max()) + 3, DIMENSION, generator=generator, dtype=torch.float64)
    return embedded, torch.arange(embedded.shape[1]) < lengths[:, None]


def random_module(module: nn.Module, seed: int = 0) -> Any:
    generator = torch.Generator().manual_seed(seed)
    for parameter in module.double().parameters():
        parameter.data = 0.7 * torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
    return module.eval()


def test_bilstm_equals_a_packed_bidirectional_lstm(batch: tuple[Tensor, Tensor]) -> None:
    embedded, mask = batch
    ours = random_module(BiLSTM(DIMENSION, HIDDEN))
    theirs = nn.LSTM(DIMENSION, HIDDEN, batch_first=True, bidirectional=True).double()
    theirs.load_state_dict(
        ours.forwards.state_dict() | {f"{name}_reverse": value for name, value in ours.backwards.state_dict().items()}
    )
    packed = pack_padded_sequence(embedded, mask.sum(1), batch_first=True, enforce_sorted=False)
    wanted, _ = pad_packed_sequence(theirs(packed)[0], batch_first=True, total_length=mask.shape[1])
    assert ours.size == 2 * HIDDEN
    assert (ours(embedded, mask)[mask] - wanted[mask]).abs().max() <= 1e-10


def test_bilstm_gradients_equal_those_of_a_packed_lstm(batch: tuple[Tensor, Tensor]) -> None:
    embedded, mask = batch
    ours = random_module(BiLSTM(DIMENSION, HIDDEN))
    theirs = nn.LSTM(DIMENSION, HIDDEN, batch_first=True, bidirectional=True).double()
    theirs.load_state_dict(
        ours.forwards.state_dict() | {f"{name}_reverse": value for name, value in ours.backwards.state_dict().items()}
    )
    back = torch.randn(*mask.shape, 2 * HIDDEN, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    back = back * mask.unsqueeze(-1)
    inputs = [embedded.clone().requires_grad_() for _ in range(2)]
    (ours(inputs[0], mask) * back).sum().backward()
    packed = pack_padded_sequence(inputs[1], mask.sum(1), batch_first=True, enforce_sorted=False)
    states, _ = pad_packed_sequence(theirs(packed)[0], batch_first=True, total_length=mask.shape[1])
    (states * back).sum().backward()
    assert inputs[0].grad is not None
    assert inputs[1].grad is not None
    assert (inputs[0].grad - inputs[1].grad).abs().max() <= 1e-10
    assert (inputs[0].grad[~mask] == 0).all()
    for name, parameter in ours.backwards.named_parameters():
        assert (parameter.grad - theirs.get_parameter(f"{name}_reverse").grad).abs().max() <= 1e-10


def cnn_state(encoder: CNN, text: Tensor, place: int) -> list[float]:
    """ReLU of every filter on the window round a place, with zeros beyond both ends of the text."""
    state = []
    convolution: Any
    for convolution in encoder.convolutions:
        filters, _, width = convolution.weight.shape
        for f in range(filters):
            total = convolution.bias[f].item()
            for step in range(width):
                at = place + step - width // 2
                if 0 <= at < len(text):
                    total += (convolution.weight[f, :, step] * text[at]).sum().item()
            state.append(max(0.0, total))
    return state


@pytest.mark.parametrize("widths", [(1, 3, 5, 7), (1, 3, 5, 7, 15)])
def test_cnn_equals_a_loop_over_windows(batch: tuple[Tensor, Tensor], widths: tuple[int, ...]) -> None:
    embedded, mask = batch
    encoder = random_module(CNN(DIMENSION, widths, 2))
    states = encoder(embedded, mask)
    assert states.shape == (*mask.shape, encoder.size)
    assert encoder.size == 2 * len(widths)
    for text, real, found in zip(embedded, mask, states, strict=True):
        for place in range(int(real.sum())):
            wanted = torch.tensor(cnn_state(encoder, text[real], place), dtype=torch.float64)
            assert (found[place] - wanted).abs().max() <= 1e-10


def test_average_and_mlp_see_one_token_at_a_time(batch: tuple[Tensor, Tensor]) -> None:
    embedded, mask = batch
    average, mlp = random_module(Average(DIMENSION, HIDDEN)), random_module(MLP(DIMENSION, HIDDEN))
    first, second = mlp.layers[0], mlp.layers[2]
    for text, real, by_average, by_mlp in zip(
        embedded, mask, average(embedded, mask), mlp(embedded, mask), strict=True
    ):
        for place in range(int(real.sum())):
            x = text[place]
            wanted = torch.tanh(average.affine.weight @ x + average.affine.bias)
            assert (by_average[place] - wanted).abs().max() <= 1e-12
            inner = (first.weight @ x + first.bias).clamp(min=0)
            assert (by_mlp[place] - (second.weight @ inner + second.bias)).abs().max() <= 1e-12


@pytest.mark.parametrize("name", ENCODERS)
@pytest.mark.parametrize("self_projection", ["softmax", "sparsemax", "entmax", "sparsegen:0.5"])
def test_equals_a_run_of_each_text_without_padding(
    batch: tuple[Tensor, Tensor], name: str, self_projection: str
) -> None:
    embedded, mask = batch
    encoder = random_module(make_encoder(name, DIMENSION, HIDDEN, self_projection))
    states = encoder(embedded, mask)
    assert states.shape == (*mask.shape, encoder.size)
    for text, real, found in zip(embedded, mask, states, strict=True):
        alone = encoder(text[real][None], torch.ones(1, int(real.sum()), dtype=torch.bool))[0]
        assert (found[real] - alone).abs().max() <= 1e-10


@pytest.mark.parametrize("name", ENCODERS)
def test_padding_gets_and_gives_no_gradient(batch: tuple[Tensor, Tensor], name: str) -> None:
    embedded, mask = batch
    encoder = random_module(make_encoder(name, DIMENSION, HIDDEN, "softmax"))
    inputs = embedded.clone().requires_grad_()
    # squares, as layer norm keeps the sum of its outputs still
    encoder(inputs, mask)[mask].square().sum().backward()
    assert inputs.grad is not None
    assert (inputs.grad[~mask] == 0).all()
    assert (inputs.grad[mask].abs().sum(-1) > 0).all()


@pytest.mark.parametrize("name", ENCODERS)
def test_only_encoders_with_context_look_beyond_a_token(name: str) -> None:
    encoder = random_module(make_encoder(name, DIMENSION, HIDDEN, "softmax"))
    embedded = torch.randn(1, 5, DIMENSION, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    changed = embedded.clone()
    changed[0, 4] += 1
    mask = torch.ones(1, 5, dtype=torch.bool)
    moved = (encoder(changed, mask) - encoder(embedded, mask)).abs().amax(-1)[0] > 1e-9
    assert moved[4]
    assert bool(moved[2]) == (name not in ("mlp", "average", "none"))


# --- the Transformer, from its definition


def norm(layer: nn.LayerNorm, x: Tensor) -> Tensor:
    centred = x - sum(x) / len(x)
    found: Tensor = centred / (sum(centred**2) / len(x) + layer.eps) ** 0.5 * layer.weight + layer.bias
    return found


def apply(layer: nn.Module, x: Tensor) -> Tensor:
    assert isinstance(layer, nn.Linear)
    return layer.weight @ x + layer.bias


def layer_by_loops(layer: SelfAttentionLayer, states: list[Tensor], projection: str) -> list[Tensor]:
    """One layer on one text: every token asks every token, one head, residuals, then norms."""
    out = []
    for x in states:
        query = apply(layer.query, x)
        scores = torch.stack([query @ apply(layer.key, other) / math.sqrt(HIDDEN) for other in states])
        weights = Projection(projection)(scores, torch.ones(len(states), dtype=torch.bool))
        seen = sum(w * apply(layer.value, other) for w, other in zip(weights, states, strict=True))
        middle = norm(layer.norm_attention, x + apply(layer.leave, seen))
        wide = apply(layer.wide[2], apply(layer.wide[0], middle).clamp(min=0))
        out.append(norm(layer.norm_wide, middle + wide))
    return out


@pytest.mark.parametrize("projection", ["softmax", "sparsemax", "entmax:1.3"])
def test_transformer_equals_loops_written_from_the_definition(batch: tuple[Tensor, Tensor], projection: str) -> None:
    embedded, mask = batch
    encoder = random_module(TransformerEncoder(DIMENSION, HIDDEN, projection))
    assert len(encoder.layers) == 2  # ME: two layers, one head
    found = encoder(embedded, mask)
    for text, real, states in zip(embedded, mask, found, strict=True):
        wanted = [apply(encoder.enter, x) + position(i) for i, x in enumerate(text[real])]
        for layer in encoder.layers:
            wanted = layer_by_loops(layer, wanted, projection)
        assert (states[real] - torch.stack(wanted)).abs().max() <= 1e-10


def position(place: int, size: int = HIDDEN) -> Tensor:
    """sin and cos of place / 10000^(2i / size), side by side (Vaswani et al. 2017, §3.5)."""
    waves = [place / 10_000 ** (2 * i / size) for i in range((size + 1) // 2)]
    both = [f(wave) for wave in waves for f in (math.sin, math.cos)]
    return torch.tensor(both[:size], dtype=torch.float64)


@pytest.mark.parametrize("size", [2, 7, 8, 128])
def test_sinusoids_are_those_of_the_definition(size: int) -> None:
    found = sinusoids(40, size, torch.zeros((), dtype=torch.float64))
    assert found.shape == (40, size)
    assert (found - torch.stack([position(i, size) for i in range(40)])).abs().max() <= 1e-12


def test_sinusoids_by_hand() -> None:
    """Size 4: wavelengths 2π and 100·2π."""
    found = sinusoids(3, 4, torch.zeros((), dtype=torch.float64))
    wanted = [
        [0.0, 1.0, 0.0, 1.0],
        [0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004],
        [0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067],
    ]
    assert (found - torch.tensor(wanted, dtype=torch.float64)).abs().max() <= 1e-10


def test_sizes_are_those_of_the_papers() -> None:
    sizes = {name: make_encoder(name, 300, 128, "softmax").size for name in ENCODERS}
    wide = {"bilstm": 256, "cnn-wide": 640, "none": 300}
    assert sizes == wide | dict.fromkeys(("cnn", "mlp", "average", "transformer"), 128)
    cnn: Any = make_encoder("cnn", 300, 128, "softmax")
    assert [tuple(c.weight.shape) for c in cnn.convolutions] == [(32, 300, w) for w in (1, 3, 5, 7)]  # JW


def test_an_encoder_that_does_not_exist_is_refused_in_a_sentence() -> None:
    with pytest.raises(InputError, match="did you mean 'bilstm'"):
        make_encoder("bi-lstm", 6, 8, "softmax")
    with pytest.raises(InputError, match="'cnn' takes no parameter"):
        make_encoder("cnn:3", 6, 8, "softmax")
