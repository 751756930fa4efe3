"""The row-wise Adam against torch's own and a plain loop, and the papers' parameter groups."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attentest.models import Classifier, ModelSettings
from attentest.text.batches import Batch, batch_of_sequences
from attentest.text.vocabulary import PAD
from attentest.training.optimizer import PaperOptimizer, RowAdam

ROWS, SIZE = 6, 3


def random_matrix(seed: int, rows: int = ROWS) -> Tensor:
    return torch.randn(rows, SIZE, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def sparse(rows: list[int], values: Tensor, shape: tuple[int, ...] = (ROWS, SIZE)) -> Tensor:
    """A gradient on some rows, as an embedding gives it: a row may come twice."""
    places = torch.tensor([rows], dtype=torch.int64)
    return torch.sparse_coo_tensor(places, values, shape, check_invariants=True)


def test_equals_adam_when_every_row_is_in_every_batch() -> None:
    ours, theirs = nn.Parameter(random_matrix(0)), nn.Parameter(random_matrix(0))
    rows = RowAdam([ours], lr=0.01, weight_decay=0.1)
    adam = torch.optim.Adam([theirs], lr=0.01, weight_decay=0.1, amsgrad=True)
    for step in range(300):
        gradient = random_matrix(step + 1) * (1 + 10 * math.cos(step))  # so that the largest moment is not the last
        ours.grad = sparse(list(range(ROWS))[::-1], gradient.flip(0))
        theirs.grad = gradient
        rows.step()
        adam.step()
        assert (ours - theirs).abs().max() <= 1e-12
    state = adam.state[theirs]
    assert not torch.equal(state["max_exp_avg_sq"], state["exp_avg_sq"])  # amsgrad did matter
    for name, wanted in (("mean", "exp_avg"), ("square", "exp_avg_sq"), ("largest", "max_exp_avg_sq")):
        assert (rows.moments[0][name] - state[wanted]).abs().max() <= 1e-12


def test_rows_that_are_not_in_the_batch_do_not_move() -> None:
    matrix = nn.Parameter(random_matrix(0))
    rows = RowAdam([matrix], lr=0.1, weight_decay=0.5)
    for step in range(5):
        before, moments = matrix.detach().clone(), {k: v.clone() for k, v in rows.moments[0].items()}
        touched = [step, (step + 2) % ROWS]
        matrix.grad = sparse(touched, random_matrix(step + 1, 2))
        rows.step()
        moved = (matrix != before).any(1)
        assert sorted(torch.nonzero(moved).flatten().tolist()) == sorted(touched)
        for name, value in rows.moments[0].items():
            assert torch.equal(value[~moved], moments[name][~moved])
        assert matrix.grad is None


def test_a_token_twice_in_a_batch_has_the_sum_of_its_gradients() -> None:
    twice, once = nn.Parameter(random_matrix(0)), nn.Parameter(random_matrix(0))
    optimizers = [RowAdam([parameter], lr=0.1, weight_decay=0.01) for parameter in (twice, once)]
    for step in range(4):
        values = random_matrix(step + 1, 3)
        twice.grad = sparse([4, 1, 4], values)
        once.grad = sparse([1, 4], torch.stack((values[1], values[0] + values[2])))
        for optimizer in optimizers:
            optimizer.step()
        assert (twice - once).abs().max() <= 1e-14


class LoopAdam:
    """The rule of a row in plain loops: moments, maximum and decay only when it occurs; all steps count."""

    def __init__(self, matrix: Tensor, lr: float, weight_decay: float) -> None:
        self.matrix = matrix.tolist()
        self.lr, self.weight_decay, self.steps = lr, weight_decay, 0
        self.mean, self.square, self.largest = ([[0.0] * SIZE for _ in range(ROWS)] for _ in range(3))

    def step(self, rows: list[int], gradients: list[list[float]]) -> None:
        self.steps += 1
        for row in set(rows):
            for j in range(SIZE):
                gradient = sum(g[j] for r, g in zip(rows, gradients, strict=True) if r == row)
                gradient += self.weight_decay * self.matrix[row][j]
                self.mean[row][j] = 0.9 * self.mean[row][j] + 0.1 * gradient
                self.square[row][j] = 0.999 * self.square[row][j] + 0.001 * gradient**2
                self.largest[row][j] = max(self.largest[row][j], self.square[row][j])
                mean = self.mean[row][j] / (1 - 0.9**self.steps)
                largest = self.largest[row][j] / (1 - 0.999**self.steps)
                self.matrix[row][j] -= self.lr * mean / (math.sqrt(largest) + 1e-8)


def test_equals_the_rule_in_plain_loops() -> None:
    matrix = nn.Parameter(random_matrix(0))
    rows, loops = RowAdam([matrix], lr=0.05, weight_decay=0.02), LoopAdam(random_matrix(0), 0.05, 0.02)
    generator = np.random.default_rng(0)
    for step in range(200):
        touched = generator.integers(0, ROWS, generator.integers(0, 5)).tolist()
        values = random_matrix(step + 1, len(touched))
        matrix.grad = sparse(touched, values)
        rows.step()
        loops.step(touched, values.tolist())
        assert (matrix - torch.tensor(loops.matrix, dtype=torch.float64)).abs().max() <= 1e-12


def test_first_step_worked_by_hand() -> None:
    """In the first step mean/√square is the sign of the gradient: every touched number moves by lr."""
    matrix = nn.Parameter(torch.ones(ROWS, SIZE, dtype=torch.float64))
    matrix.grad = sparse([2], torch.tensor([[3.0, -0.5, 1e-3]], dtype=torch.float64))
    RowAdam([matrix], lr=0.25, weight_decay=0).step()
    assert matrix[2].tolist() == pytest.approx([0.75, 1.25, 0.75], abs=1e-5)
    assert (matrix[[0, 1, 3, 4, 5]] == 1).all()


def test_a_step_without_gradient_changes_nothing_but_counts() -> None:
    matrix = nn.Parameter(random_matrix(0))
    rows = RowAdam([matrix], lr=0.1, weight_decay=0.1)
    rows.step()
    assert torch.equal(matrix, random_matrix(0))
    assert rows.steps == 1


# --- the papers' groups, on a model


def make_model(seed: int = 0, projection: str = "softmax") -> Classifier:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Classifier(ModelSettings("bilstm", projection=projection, hidden=4), torch.randn(30, 5), 2)


def make_batch(seed: int) -> Batch:
    generator = np.random.default_rng(seed)
    batch = batch_of_sequences([generator.integers(1, 12, n) for n in (1, 6, 3, 9)])
    return replace(batch, labels=torch.tensor([0, 1, 1, 0]))


def train(model: Classifier, optimizer: PaperOptimizer, steps: range) -> None:
    for step in steps:
        optimizer.zero_grad()
        batch = make_batch(step)
        assert batch.labels is not None
        F.cross_entropy(model(batch)[0], batch.labels, reduction="sum").backward()
        optimizer.step()


def test_groups_are_those_of_the_papers() -> None:
    model = make_model()
    optimizer = PaperOptimizer(model, lr=0.01, attention_lr=0.002, weight_decay=0.3)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    rest, attention = optimizer.dense.param_groups
    assert (rest["lr"], rest["weight_decay"], rest["amsgrad"]) == (0.01, 0.3, True)
    assert (attention["lr"], attention["weight_decay"], attention["amsgrad"]) == (0.002, 0.0, True)
    assert {names[id(p)].partition(".")[0] for p in attention["params"]} == {"alignment"}
    assert {names[id(p)].partition(".")[0] for p in rest["params"]} == {"encoder", "decoder"}
    assert [names[id(p)] for p in optimizer.rows.parameters] == ["embedding.weight"]
    assert (optimizer.rows.lr, optimizer.rows.weight_decay) == (0.01, 0.3)
    in_groups = len(rest["params"]) + len(attention["params"]) + len(optimizer.rows.parameters)
    assert in_groups == len(list(model.parameters()))


def test_trains_as_three_adams_with_dense_embeddings_would() -> None:
    """JW's three optimisers on a twin with dense gradients, with every word in every batch."""
    ours, theirs = make_model().double(), make_model().double()
    theirs.embedding.sparse = False
    lr, attention_lr, decay = 0.01, 0.003, 0.05
    optimizer = PaperOptimizer(ours, lr, attention_lr, decay)
    adams = [
        torch.optim.Adam(
            [*theirs.embedding.parameters(), *theirs.encoder.parameters()], lr, weight_decay=decay, amsgrad=True
        ),
        torch.optim.Adam(theirs.alignment.parameters(), attention_lr, weight_decay=0, amsgrad=True),
        torch.optim.Adam(theirs.decoder.parameters(), lr, weight_decay=decay, amsgrad=True),
    ]
    generator = np.random.default_rng(0)
    for _ in range(30):
        batch = batch_of_sequences([generator.permutation(np.arange(1, 30)), np.array([3, 3, 7])])
        batch = replace(batch, labels=torch.tensor([1, 0]))
        assert batch.labels is not None
        optimizer.zero_grad()
        F.cross_entropy(ours(batch)[0], batch.labels).backward()
        optimizer.step()
        theirs.zero_grad()
        F.cross_entropy(theirs(batch)[0], batch.labels).backward()
        for adam in adams:
            adam.step()
    wanted = theirs.state_dict()
    for name, value in ours.state_dict().items():
        # padding never occurs, so a dense step decays its vector and ours leaves it
        real = slice(PAD + 1, None) if name == "embedding.weight" else slice(None)
        assert (value[real] - wanted[name][real]).abs().max() <= 1e-10, name


def test_weight_decay_pulls_on_everything_but_attention() -> None:
    model = make_model()
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    optimizer = PaperOptimizer(model, lr=0.1, attention_lr=0.1, weight_decay=1.0)
    for name, parameter in model.named_parameters():
        if name == "embedding.weight":
            parameter.grad = sparse([7], torch.zeros(1, 5), parameter.shape)
        else:
            parameter.grad = torch.zeros_like(parameter)
    optimizer.step()
    for name, parameter in model.named_parameters():
        if name.startswith("alignment."):
            assert torch.equal(parameter, before[name]), name
        elif name == "embedding.weight":
            wanted = before[name].clone()
            wanted[7] -= 0.1 * wanted[7].sign()
            assert torch.allclose(parameter, wanted, atol=1e-4)
        else:
            # the first step goes by lr against the sign of each number
            assert torch.allclose(parameter, before[name] - 0.1 * before[name].sign(), atol=1e-4), name


def test_vectors_of_words_not_seen_and_of_padding_stay() -> None:
    model = make_model()
    before = model.embedding.weight.detach().clone()
    train(model, PaperOptimizer(model, 0.01, 0.01, 0.1), range(6))
    moved = (model.embedding.weight != before).any(1)
    seen = sorted({int(i) for step in range(6) for i in make_batch(step).ids.flatten()} - {PAD})
    assert torch.nonzero(moved).flatten().tolist() == seen
    assert max(seen) < 29


def test_frozen_vectors_do_not_move_and_the_rest_trains() -> None:
    model = make_model()
    model.embedding.weight.requires_grad_(False)
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    optimizer = PaperOptimizer(model, 0.01, 0.01, 0.1)
    train(model, optimizer, range(3))
    assert optimizer.rows.parameters == []
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) == (name == "embedding.weight"), name


def test_attention_that_is_not_used_does_not_move() -> None:
    model = make_model(projection="uniform")
    before = {name: value.detach().clone() for name, value in model.named_parameters()}
    train(model, PaperOptimizer(model, 0.01, 0.01, 0.1), range(3))
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter, before[name]) == name.startswith("alignment."), name


def test_zero_grad_clears_every_gradient() -> None:
    model = make_model()
    optimizer = PaperOptimizer(model, 0.01, 0.01, 0.1)
    batch = make_batch(0)
    assert batch.labels is not None
    F.cross_entropy(model(batch)[0], batch.labels).backward()
    assert all(parameter.grad is not None for parameter in model.parameters())
    optimizer.zero_grad()
    assert all(parameter.grad is None for parameter in model.parameters())


@pytest.mark.parametrize("projection", ["softmax", "uniform"])
@pytest.mark.parametrize("train_vectors", [True, False])
def test_saved_and_loaded_it_goes_on_bit_for_bit(train_vectors: bool, projection: str) -> None:
    def build() -> tuple[Classifier, PaperOptimizer]:
        model = make_model(projection=projection)
        model.embedding.weight.requires_grad_(train_vectors)
        return model, PaperOptimizer(model, 0.01, 0.003, 0.05)

    unbroken, optimizer = build()
    train(unbroken, optimizer, range(5))
    saved = optimizer.tensors()
    (resumed, fresh), (forgetful, new) = build(), build()
    resumed.load_state_dict(unbroken.state_dict())
    forgetful.load_state_dict(unbroken.state_dict())
    fresh.load_tensors(saved)
    assert fresh.tensors().keys() == saved.keys()
    assert all(torch.equal(value, saved[name]) for name, value in fresh.tensors().items())
    # neither disturbs the other, whichever goes first
    train(resumed, fresh, range(5, 9))
    train(unbroken, optimizer, range(5, 9))
    train(forgetful, new, range(5, 9))
    assert not torch.equal(forgetful.decoder.weight, unbroken.decoder.weight)
    for name, value in unbroken.state_dict().items():
        assert torch.equal(value, resumed.state_dict()[name]), name


def test_saved_before_the_first_step_it_starts_as_new() -> None:
    models = [make_model(), make_model()]
    optimizers = [PaperOptimizer(model, 0.01, 0.003, 0.05) for model in models]
    optimizers[1].load_tensors(optimizers[0].tensors())
    for model, optimizer in zip(models, optimizers, strict=True):
        train(model, optimizer, range(3))
    assert all(torch.equal(a, b) for a, b in zip(*(m.state_dict().values() for m in models), strict=True))


def test_loaded_state_lies_where_the_parameters_lie() -> None:
    """A fused Adam wants its step beside the parameter too; the meta device stands in for a GPU."""
    model = make_model()
    optimizer = PaperOptimizer(model, 0.01, 0.003, 0.05)
    train(model, optimizer, range(2))
    elsewhere = make_model().to("meta")
    moved = PaperOptimizer(elsewhere, 0.01, 0.003, 0.05)
    moved.load_tensors(optimizer.tensors())
    states = moved.dense.state.values()
    assert len(states) == len(list(model.parameters())) - 1
    assert {value.device.type for state in states for value in state.values()} == {"meta"}
