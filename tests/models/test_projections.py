"""Projections: always on the simplex, and each the minimiser that its paper defines."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import torch
from all_pairs import over_pairs
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from attentest.errors import InputError
from attentest.models.projections import PROJECTIONS, SELF_PROJECTIONS, Projection

SPECS = [
    "softmax",
    "sparsemax",
    "entmax",
    "entmax:1",
    "entmax:1.05",
    "entmax:1.3",
    "entmax:2",
    "entmax:4",
    "sparsegen",
    "sparsegen:0.5",
    "sparsegen:0.99",
    "sparsegen:-9",
    "gumbel-softmax",
    "gumbel-softmax:0.1",
    "gumbel-softmax:5",
    "hard",
    "shuffled",
    "uniform",
]
LEARNED = [spec for spec in SPECS if spec not in ("uniform", "hard")]
SMOOTH = ["softmax", "entmax:1", "gumbel-softmax", "gumbel-softmax:5", "shuffled"]
SPARSE = [spec for spec in LEARNED if spec.startswith(("sparse", "entmax")) and spec != "entmax:1"]
LENGTHS = torch.tensor([1, 2, 3, 7, 12])
MASK = torch.arange(12) < LENGTHS[:, None]
GARBAGE = [0.0, 1e30, -1e30, 3e38, math.inf, -math.inf, math.nan]


def random_scores(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=dtype)


def weigh(spec: str, scores: Tensor, mask: Tensor | None = None, training: bool = False) -> Tensor:
    mask = torch.ones_like(scores, dtype=torch.bool) if mask is None else mask
    return Projection(spec)(scores, mask, training=training)


def weigh_list(spec: str, *scores: float) -> list[float]:
    return weigh(spec, torch.tensor(scores, dtype=torch.float64)).tolist()


def test_specs_here_cover_the_registry() -> None:
    assert {spec.partition(":")[0] for spec in SPECS} | {"preset", "random"} == set(PROJECTIONS)
    assert set(SELF_PROJECTIONS) == set(PROJECTIONS) - {"uniform", "random", "preset", "hard", "shuffled"}


# --- on the simplex of the real tokens, whatever the scores


def assert_on_simplex(weights: Tensor, mask: Tensor) -> None:
    assert torch.isfinite(weights).all()
    assert (weights >= 0).all()
    assert (weights[~mask] == 0).all()
    assert (weights.sum(-1) - 1).abs().max() <= 1e-6
    alone = mask.sum(-1) == 1
    assert (weights[alone].amax(-1) == 1).all()


@over_pairs(
    {
        "spec": SPECS,
        "shift": [0.0, -1e8, 1e8],
        "scale": [1.0, 1e4, 1e30, 1e-8, 0.0],
        "training": [False, True],
    }
)
def test_weights_lie_on_the_simplex_of_the_real_tokens(spec: str, shift: float, scale: float, training: bool) -> None:
    scores = random_scores(1, 5, 12) * scale + shift
    for garbage in GARBAGE:
        torch.manual_seed(0)
        assert_on_simplex(weigh(spec, scores.masked_fill(~MASK, garbage), MASK, training), MASK)


@pytest.mark.parametrize("spec", SPECS)
def test_what_lies_on_padding_does_not_matter(spec: str) -> None:
    scores = random_scores(2, 5, 12)
    expected = weigh(spec, scores.masked_fill(~MASK, 0), MASK)
    for garbage in GARBAGE:
        assert torch.equal(weigh(spec, scores.masked_fill(~MASK, garbage), MASK), expected)


@pytest.mark.parametrize("spec", SPECS)
def test_the_amount_of_padding_does_not_matter(spec: str) -> None:
    scores = random_scores(3, 6, 9)
    short = weigh(spec, scores)
    for extra in (1, 5, 300):
        mask = torch.arange(9 + extra).expand(6, -1) < 9
        padded = torch.cat((scores, random_scores(4, 6, extra) + 20), 1)
        long = weigh(spec, padded, mask)
        assert (long[:, :9] - short).abs().max() <= 3e-7
        assert (long[:, 9:] == 0).all()


@pytest.mark.parametrize("spec", SPECS)
def test_padding_may_stand_anywhere(spec: str) -> None:
    scores = random_scores(5, 1, 8)
    mask = torch.tensor([[False, True, True, False, True, False, False, True]])
    assert torch.allclose(weigh(spec, scores, mask)[mask], weigh(spec, scores[mask]), atol=1e-7)


@pytest.mark.parametrize("spec", SPECS)
def test_every_row_of_a_matrix_of_scores_is_its_own_projection(spec: str) -> None:
    scores = random_scores(6, 2, 4, 5, dtype=torch.float64)
    mask = (torch.arange(5) < torch.tensor([3, 5])[:, None])[:, None].expand(2, 4, 5)
    weights = weigh(spec, scores, mask)
    for text, row in itertools.product(range(2), range(4)):
        assert torch.allclose(weights[text, row], weigh(spec, scores[text, row], mask[text, row]), atol=1e-7)


@pytest.mark.parametrize("spec", SPECS)
def test_long_texts_still_sum_to_one(spec: str) -> None:
    tokens = 1000
    scores = random_scores(7, 8, tokens)
    # one token far ahead of many that still have weight: the hardest case for sums in float32
    ahead = scores * 1e-6
    ahead[:, 0] += 0.5
    for some in (*(scores * scale for scale in (0.0, 1e-3, 0.1, 1.0)), ahead):
        assert (weigh(spec, some).double().sum(-1) - 1).abs().max() <= most_off(spec, tokens)


def most_off(spec: str, tokens: int) -> float:
    """The furthest from 1 that weights may sum up to, if nothing but the rounding of float32 is in the way.

    Rounding errs by at most half an epsilon of what is rounded. Thresholds are searched in float64, so each weight is
    rounded once, and the errors sum up to at most half an epsilon of 1. A softmax divides by a sum in float32, whose
    order is the CPU's own; the errors of n roundings go either way and grow like a random walk, with the root of n."""
    epsilon = torch.finfo(torch.float32).eps
    return epsilon * (1 if spec in SPARSE or spec == "uniform" else math.sqrt(tokens))


@pytest.mark.parametrize("spec", [spec for spec in SPECS if spec != "hard"])
def test_equal_scores_get_equal_weights(spec: str) -> None:
    for score in (0.0, 1e4, -1e30, 1e-8):
        weights = weigh(spec, torch.full((5, 12), score), MASK)
        assert torch.allclose(weights, MASK / LENGTHS[:, None], atol=1e-7, rtol=0)


@pytest.mark.parametrize("spec", LEARNED)
def test_a_score_far_ahead_takes_everything(spec: str) -> None:
    for score in (0.0, 1e4, -1e4):
        assert weigh_list(spec, score - 1e3, score, score - 2e3) == pytest.approx([0, 1, 0], abs=1e-12)


@pytest.mark.parametrize("spec", LEARNED)
def test_only_differences_of_scores_matter_and_order_is_kept(spec: str) -> None:
    scores = random_scores(8, 50, 7, dtype=torch.float64)
    weights = weigh(spec, scores)
    assert torch.allclose(weigh(spec, scores + 3), weights, atol=1e-9, rtol=0)
    by_score = weights.gather(1, scores.argsort(1))
    assert (by_score.diff(dim=1) >= -1e-12).all()
    assert (by_score[:, -1] > by_score[:, 0] + 1e-3).all()


@pytest.mark.parametrize("spec", SPECS)
def test_weights_have_the_precision_of_the_scores(spec: str) -> None:
    assert weigh(spec, random_scores(9, 2, 3)).dtype == torch.float32
    if spec != "uniform":  # takes no scores
        assert weigh(spec, random_scores(9, 2, 3, dtype=torch.float64)).dtype == torch.float64


# --- brute-force twins: other algorithms for the same definitions, in float64


def softmax_twin(scores: np.ndarray) -> np.ndarray:
    powers = [math.exp(z - max(scores)) for z in scores]
    return np.array([p / sum(powers) for p in powers])


def best_of_subsets(scores: np.ndarray, sparsity: float) -> np.ndarray:
    """argmin ‖p − z‖² − λ‖p‖² on the simplex (ME eq. 3): the best of the minima on every face.

    On the face of a set S the minimum has (1 − λ) p_i = z_i − τ for one τ, and Σ p = 1.
    """
    best, least = None, math.inf
    for size in range(1, len(scores) + 1):
        for chosen in itertools.combinations(range(len(scores)), size):
            inside = scores[list(chosen)]
            threshold = (inside.sum() - (1 - sparsity)) / size
            p = np.zeros(len(scores))
            p[list(chosen)] = (inside - threshold) / (1 - sparsity)
            objective = ((p - scores) ** 2).sum() - sparsity * (p**2).sum()
            if (p >= 0).all() and objective < least - 1e-13:
                best, least = p, objective
    assert best is not None
    return best


def entmax_twin(scores: np.ndarray, alpha: float) -> np.ndarray:
    """p_i = max(0, (α − 1) z_i − τ)^(1/(α − 1)), the τ at which they sum to 1 by halving."""
    z = (alpha - 1) * scores.astype(np.longdouble)
    low, high = z.max() - 1, z.max()
    for _ in range(200):
        middle = (low + high) / 2
        if (np.maximum(z - middle, 0) ** (1 / (alpha - 1))).sum() >= 1:
            low = middle
        else:
            high = middle
    weights: np.ndarray = np.maximum(z - low, 0) ** (1 / (alpha - 1))
    return weights


def twin(spec: str, scores: np.ndarray) -> np.ndarray:
    name, _, parameter = spec.partition(":")
    if name == "sparsegen":
        return best_of_subsets(scores, float(parameter or 0))
    if name == "sparsemax":
        return best_of_subsets(scores, 0.0)
    if name == "gumbel-softmax":
        return softmax_twin(scores / float(parameter or 0.8))
    if name in ("softmax", "shuffled") or parameter == "1":
        return softmax_twin(scores)
    return entmax_twin(scores, float(parameter or 1.5))


@pytest.mark.parametrize("spec", LEARNED)
@settings(max_examples=60, deadline=None, derandomize=True)
@given(st.lists(st.integers(-300, 300), min_size=1, max_size=6), st.sampled_from([0.01, 0.003, 0.001]))
def test_equals_its_brute_force_twin(spec: str, whole: list[int], unit: float) -> None:
    scores = np.array(whole) * unit
    found = weigh(spec, torch.from_numpy(scores)).numpy()
    # past α = 2 the slope is infinite where a token enters: the last bit of a score shows
    tolerance = 2e-5 if spec == "entmax:4" else 1e-9
    assert np.abs(found - twin(spec, scores)).max() <= tolerance


@pytest.mark.parametrize("spec", ["entmax:1.001", "entmax:1.05", "entmax:1.3", "entmax", "entmax:2", "entmax:4"])
def test_entmax_is_exact_to_float32_on_float32_scores(spec: str) -> None:
    for seed, scale in enumerate((1e-3, 0.1, 1.0, 10.0)):
        scores = random_scores(seed, 20, 60) * scale
        found = weigh(spec, scores).numpy()
        expected = np.stack([twin(spec, row) for row in scores.double().numpy()])
        assert np.abs(found - expected).max() <= (1e-5 if spec == "entmax:4" else 3e-7)


@pytest.mark.parametrize("sparsity", [-20.0, -1.0, 0.5, 0.9])
def test_nothing_on_the_simplex_beats_sparsegen(sparsity: float) -> None:
    """Against 20,000 random points and the corners, by the objective itself."""
    generator = np.random.default_rng(5)
    for _ in range(10):
        z = generator.normal(size=4)
        p = weigh(f"sparsegen:{sparsity}", torch.from_numpy(z)).numpy()
        others = np.concatenate((generator.dirichlet(np.full(4, 0.5), 20_000), np.eye(4)))
        others = np.concatenate((others, 0.999 * p + 0.001 * others))  # and its near neighbours

        def objective(q: np.ndarray, z: np.ndarray = z) -> np.ndarray:
            found: np.ndarray = ((q - z) ** 2).sum(-1) - sparsity * (q**2).sum(-1)
            return found

        assert objective(p) <= objective(others).min() + 1e-12


def test_special_cases_meet() -> None:
    scores = random_scores(10, 5, 12, dtype=torch.float64)
    assert torch.equal(weigh("entmax:1", scores, MASK), weigh("softmax", scores, MASK))
    assert torch.allclose(weigh("entmax:2", scores, MASK), weigh("sparsemax", scores, MASK), atol=1e-12)
    assert torch.equal(weigh("sparsegen:0", scores, MASK), weigh("sparsemax", scores, MASK))
    assert torch.allclose(weigh("entmax:1.0001", scores, MASK), weigh("softmax", scores, MASK), atol=1e-3)
    assert torch.allclose(weigh("entmax:1.5000001", scores, MASK), weigh("entmax:1.5", scores, MASK), atol=1e-6)
    assert torch.allclose(weigh("gumbel-softmax:1", scores, MASK), weigh("softmax", scores, MASK), atol=1e-15)
    assert torch.allclose(weigh("sparsegen:-1e9", scores, MASK), weigh("uniform", scores, MASK).double(), atol=1e-7)


def test_defaults_are_those_of_the_papers() -> None:
    scores = random_scores(11, 5, 12)
    assert torch.equal(weigh("gumbel-softmax", scores, MASK), weigh("gumbel-softmax:0.8", scores, MASK))  # WE §5.3
    assert torch.equal(weigh("entmax", scores, MASK), weigh("entmax:1.5", scores, MASK))
    assert torch.equal(weigh("sparsegen", scores, MASK), weigh("sparsegen:0", scores, MASK))


def test_sparsity_grows_with_its_parameter() -> None:
    scores = random_scores(12, 100, 20)

    def zeros(spec: str) -> int:
        return int((weigh(spec, scores) == 0).sum())

    gen = [zeros(f"sparsegen:{sparsity}") for sparsity in (-10, -2, 0, 0.5, 0.9)]
    ent = [zeros(f"entmax:{alpha}") for alpha in (1.0, 1.3, 1.5, 2.0, 4.0)]
    assert gen == sorted(set(gen))
    assert ent == sorted(set(ent))
    assert ent[0] == 0


# --- worked by hand


def test_numbers_worked_by_hand() -> None:
    log2, log3 = math.log(2), math.log(3)
    # exp: 1, 2, 3; sum 6
    assert weigh_list("softmax", 0, log2, log3) == pytest.approx([1 / 6, 2 / 6, 3 / 6], abs=1e-12)
    # at temperature 1/2 the scores double: exp 1, 4, 9; sum 14
    assert weigh_list("gumbel-softmax:0.5", 0, log2, log3) == pytest.approx([1 / 14, 4 / 14, 9 / 14], abs=1e-12)
    # τ over {1, .5}: (1.5 − 1)/2 = .25, and −1 is below it: .75, .25, 0
    assert weigh_list("sparsemax", 1, 0.5, -1) == pytest.approx([0.75, 0.25, 0], abs=1e-12)
    # all three in: τ = (.3 + .2 + .1 − 1)/3 = −.4/3; .3 + .4/3 = 1.3/3 …
    assert weigh_list("sparsemax", 0.3, 0.2, 0.1) == pytest.approx([1.3 / 3, 1 / 3, 0.7 / 3], abs=1e-12)
    # λ = .5 doubles the scores: 2, 1, −2; τ over {2, 1} would be 1 = the second score, so only the first stays
    assert weigh_list("sparsegen:0.5", 1, 0.5, -1) == pytest.approx([1, 0, 0], abs=1e-12)
    # λ = −1 halves them: .5, .25, −.5; τ over {.5, .25} = −.125, over all (.25 − 1)/3 = −.25 > −.5: .625, .375, 0
    assert weigh_list("sparsegen:-1", 1, 0.5, -1) == pytest.approx([0.625, 0.375, 0], abs=1e-12)
    # α = 1.5: p = (z/2 − τ)². With .8² + .6² = 1: z/2 = .8, .6 at τ = 0, and −.2/2 − 0 < 0 has none
    assert weigh_list("entmax", 1.6, 1.2, -0.2) == pytest.approx([0.64, 0.36, 0], abs=1e-12)
    # α = 3: p = √(2z − τ). With √.36 + √.16 = 1: 2z = .36, .16 at τ = 0
    assert weigh_list("entmax:3", 0.18, 0.08, -0.1) == pytest.approx([0.6, 0.4, 0], abs=1e-9)
    # α = 1.25: p = (z/4 − τ)⁴; two equal tokens have ½ each, at τ = 7/4 − ½^¼, and −9/4 is below it
    assert weigh_list("entmax:1.25", 7, 7, -9) == pytest.approx([0.5, 0.5, 0], abs=1e-12)
    assert weigh_list("uniform", 5, -3, 0) == pytest.approx([1 / 3, 1 / 3, 1 / 3], abs=1e-7)


# --- gradients


def scores_away_from_kinks(spec: str, mask: Tensor) -> Tensor:
    """Four rows in which two tokens or more have weight, and small changes give none to others and take none away."""
    scores = random_scores(20, 300, len(mask), dtype=torch.float64) * (0.02 if spec == "sparsegen:0.99" else 1)
    changes = 1e-3 * scores.std() * random_scores(21, 30, 300, len(mask), dtype=torch.float64)
    has_weight = weigh(spec, scores + changes, mask.expand_as(changes)) > 1e-3
    steady = (has_weight == has_weight[0]).all(0).all(1) & (has_weight[0].sum(1) >= 2)
    assert steady.sum() >= 4
    return scores[steady][:4]


@pytest.mark.parametrize("mask", [[True] * 5, [True, True, False, True, False]], ids=["whole", "padded"])
@pytest.mark.parametrize("spec", SMOOTH + SPARSE)
def test_gradient_is_that_of_the_function(spec: str, mask: list[bool]) -> None:
    real = torch.tensor(mask)
    scores = scores_away_from_kinks(spec, real).requires_grad_()
    rows = real.expand_as(scores)
    assert torch.autograd.gradcheck(lambda z: weigh(spec, z, rows), (scores,), eps=1e-7, atol=1e-6, rtol=1e-4)


@pytest.mark.parametrize("spec", SMOOTH + SPARSE)
def test_padding_gets_no_gradient_whatever_lies_there(spec: str) -> None:
    given_back = random_scores(30, 5, 12)
    real = 0.01 * random_scores(31, 5, 12)  # so near each other that no projection gives all to one
    gradients = []
    for garbage in GARBAGE:
        scores = real.masked_fill(~MASK, garbage).requires_grad_()
        (weigh(spec, scores, MASK) * given_back).sum().backward()
        assert scores.grad is not None
        assert (scores.grad[~MASK] == 0).all()
        assert torch.isfinite(scores.grad).all()
        gradients.append(scores.grad)
    assert all(torch.equal(gradient, gradients[0]) for gradient in gradients)
    assert gradients[0][-1].abs().max() > 1e-3


@pytest.mark.parametrize("spec", SMOOTH + SPARSE)
@pytest.mark.parametrize("scale", [1e4, 1e-8, 0.0])
def test_gradient_stays_finite_at_extreme_scales(spec: str, scale: float) -> None:
    scores = (random_scores(32, 5, 12) * scale).requires_grad_()
    (weigh(spec, scores, MASK) * random_scores(33, 5, 12)).sum().backward()
    assert scores.grad is not None
    assert torch.isfinite(scores.grad).all()
    # adding one number to every score changes nothing, so the gradient sums to 0
    assert scores.grad.sum(-1).abs().max() <= 1e-4 * max(1.0, float(scores.grad.abs().max()))


# --- Gumbel noise


def test_noise_is_for_training_only() -> None:
    scores = random_scores(40, 5, 12)
    quiet = weigh("gumbel-softmax", scores, MASK)
    assert torch.equal(quiet, weigh("gumbel-softmax", scores, MASK))
    torch.manual_seed(0)
    first, second = (weigh("gumbel-softmax", scores, MASK, training=True) for _ in range(2))
    torch.manual_seed(0)
    again = weigh("gumbel-softmax", scores, MASK, training=True)
    assert torch.equal(first, again)
    assert (first - second).abs().max() > 0.05
    assert (first - quiet).abs().max() > 0.05
    for spec in SPECS:
        if not spec.startswith(("gumbel", "shuffled")):
            assert torch.equal(weigh(spec, scores, MASK, training=True), weigh(spec, scores, MASK))


def test_noise_is_gumbel_the_heaviest_token_follows_softmax() -> None:
    """argmax(z + Gumbel) is distributed as softmax(z); χ² over 4 real tokens has 3 degrees of freedom."""
    scores = torch.tensor([0.0, 1.0, -0.5, 2.0, 9.0])
    draws = 40_000
    mask = torch.tensor([True, True, True, True, False]).expand(draws, -1)
    torch.manual_seed(7)
    weights = weigh("gumbel-softmax:0.8", scores.expand(draws, -1), mask, training=True)
    counts = torch.bincount(weights.argmax(1), minlength=5)
    expected = softmax_twin(scores[:4].double().numpy()) * draws
    assert counts[4] == 0
    chi2 = (((counts[:4].numpy() - expected) ** 2) / expected).sum()
    assert chi2 < 16.27  # p = 0.001


def test_noise_has_the_size_of_a_standard_gumbel_at_every_temperature() -> None:
    """temperature · log(p_1/p_2) = z_1 − z_2 + a difference of two Gumbels, which is logistic: variance π²/3."""
    draws = 40_000
    for temperature in (0.5, 0.8, 2.0):
        torch.manual_seed(8)
        scores = torch.tensor([0.3, -0.2], dtype=torch.float64).expand(draws, -1)
        weights = weigh(f"gumbel-softmax:{temperature}", scores, training=True)
        difference = temperature * (weights[:, 0].log() - weights[:, 1].log())
        # standard errors: of the mean π/√(3n) = .009, of the variance √((μ4 − σ⁴)/n) = .029; five of them
        assert difference.mean().item() == pytest.approx(0.5, abs=0.045)
        assert difference.var().item() == pytest.approx(math.pi**2 / 3, abs=0.15)


# --- all on one token


def test_hard_is_the_first_of_the_largest_real_scores() -> None:
    scores = random_scores(60, 5, 12)
    weights = weigh("hard", scores.masked_fill(~MASK, 9), MASK)
    for row, length in enumerate(LENGTHS.tolist()):
        wanted = max(range(length), key=scores[row].tolist().__getitem__)
        assert weights[row].tolist() == [float(place == wanted) for place in range(12)]
    assert weigh_list("hard", 1, 3, 3, 2) == [0, 1, 0, 0]
    assert weigh_list("hard", 1, 3, 3 + 1e-15, 2) == [0, 1, 0, 0]  # the same but for rounding
    assert weigh_list("hard", 1, 3, 3 + 1e-9, 2) == [0, 0, 1, 0]


def test_hard_is_trained_by_the_gradient_of_softmax_and_has_none_in_tests() -> None:
    given_back = random_scores(61, 5, 12)
    gradients = {}
    for spec in ("hard", "softmax"):
        scores = random_scores(62, 5, 12).requires_grad_()
        (weigh(spec, scores, MASK, training=True) * given_back).sum().backward()
        assert scores.grad is not None
        gradients[spec] = scores.grad
    assert torch.equal(gradients["hard"], gradients["softmax"])
    scores = random_scores(62, 5, 12).requires_grad_()
    assert not weigh("hard", scores, MASK).requires_grad


# --- shuffled in training


def test_shuffled_weights_are_the_same_weights_on_other_tokens_of_the_text() -> None:
    scores = random_scores(63, 5, 12)
    own = weigh("shuffled", scores, MASK)
    assert torch.equal(own, weigh("softmax", scores, MASK))
    torch.manual_seed(0)
    moved = weigh("shuffled", scores, MASK, training=True)
    assert torch.equal(moved.sort(-1).values, own.sort(-1).values)
    assert (moved[~MASK] == 0).all()
    assert (moved != own).any(1).tolist()[3:] == [True] * 2
    torch.manual_seed(0)
    assert torch.equal(moved, weigh("shuffled", scores, MASK, training=True))
    assert not torch.equal(moved, weigh("shuffled", scores, MASK, training=True))


def test_every_token_gets_every_weight_equally_often() -> None:
    """χ² of 9 pairs of weight and place, whose rows and columns sum to 1: 4 degrees of freedom."""
    draws = 6_000
    scores = torch.tensor([0.0, 5.0, 1.0, 2.0]).expand(draws, -1)
    mask = torch.tensor([True, False, True, True]).expand(draws, -1)
    torch.manual_seed(3)
    moved = weigh("shuffled", scores, mask, training=True)[:, [0, 2, 3]].argsort(1)
    counts = torch.stack([moved[:, place].bincount(minlength=3) for place in range(3)])
    assert float(((counts - draws / 3) ** 2 / (draws / 3)).sum()) < 18.47  # p = 0.001


def test_the_gradient_of_a_shuffled_weight_comes_from_where_it_went() -> None:
    scores = torch.tensor([0.3, -0.4, 1.0], dtype=torch.float64, requires_grad=True)
    given_back = torch.tensor([1.0, 10.0, 100.0], dtype=torch.float64)
    own = weigh("softmax", scores)
    torch.manual_seed(1)
    moved = weigh("shuffled", scores, training=True)
    (found,) = torch.autograd.grad(moved @ given_back, scores)
    went = [int((moved == weight).nonzero()) for weight in own]
    (wanted,) = torch.autograd.grad(own @ given_back[went], scores)
    assert torch.allclose(found, wanted)


def test_temperature_sharpens_and_flattens() -> None:
    scores = random_scores(41, 30, 10)
    heaviest = [weigh(f"gumbel-softmax:{t}", scores).amax(1) for t in (5, 1, 0.8, 0.1)]
    assert all((colder > warmer).all() for warmer, colder in itertools.pairwise(heaviest))
    plain = weigh("softmax", scores).amax(1)
    assert torch.allclose(heaviest[1], plain)


# --- preset and names


def test_preset_weights_are_taken_as_they_are() -> None:
    weights = torch.rand(5, 12).masked_fill(~MASK, 0)
    weights /= weights.sum(1, keepdim=True)
    projection = Projection("preset")
    assert not projection.needs_scores
    assert torch.equal(projection(None, MASK, preset=weights), weights)


def test_preset_without_weights_is_an_error_that_says_so() -> None:
    with pytest.raises(InputError, match=r"'preset' and 'random' need weights"):
        Projection("preset")(None, MASK)


def test_uniform_needs_no_scores() -> None:
    projection = Projection("uniform")
    assert not projection.needs_scores
    assert torch.equal(projection(None, MASK), MASK / LENGTHS[:, None])
    assert all(Projection(spec).needs_scores for spec in LEARNED)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("softmax:2", "'softmax' takes no parameter"),
        ("sparsemax:0.5", "'sparsemax' takes no parameter"),
        ("uniform:1", "'uniform' takes no parameter"),
        ("sparsegen:1", "is 1; it must be less than 1"),
        ("sparsegen:1.5", "is 1.5; it must be less than 1"),
        ("sparsegen:nan", "must be less than 1"),
        ("sparsegen:x", "'sparsegen:x' is not a number"),
        ("sparsegen:", "'sparsegen:' is not a number"),
        ("entmax:0.9", "it must be from 1 to 4"),
        ("entmax:inf", "it must be from 1 to 4"),
        ("entmax:nan", "it must be from 1 to 4"),
        ("gumbel-softmax:0", "it must be above 0"),
        ("gumbel-softmax:-1", "it must be above 0"),
        ("sparsmax", "did you mean 'sparsemax'"),
        ("entmx:1.3", "did you mean 'entmax'"),
        ("Softmax", "did you mean 'softmax'"),
        (
            "zzz",
            "choose from: entmax, gumbel-softmax, hard, preset, random, shuffled, softmax, sparsegen, sparsemax, "
            "uniform",
        ),
        ("", "choose from"),
    ],
)
def test_a_spec_that_cannot_be_used_is_refused_in_a_sentence(spec: str, message: str) -> None:
    with pytest.raises(InputError) as error:
        Projection(spec)
    assert message in str(error.value)


def test_parameters_are_read_from_the_spec() -> None:
    assert Projection("entmax:1.3").parameter == 1.3
    assert Projection("entmax").parameter == 1.5
    assert Projection("sparsegen:-1e3").parameter == -1000
    assert Projection("softmax").parameter is None
