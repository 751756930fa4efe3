"""Other weights of one row of a head with the same output: α′ ≥ 0, Σ α′ = Σ α and α′V = αV, by linear programming."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from jaxtyping import Float

from attentest.errors import InputError

Row = Float[np.ndarray, "keys"]
TOLERANCE = 1e-6  # of the output, relative to its size
_RANK = 1e-9  # singular values below this share of the largest are 0
_FEASIBLE = 1e-10  # of the programme, the least that HiGHS takes


def kept_directions(values: Float[np.ndarray, "keys size"]) -> Float[np.ndarray, "keys rank"]:
    """An orthonormal basis of what other weights must keep; with as many directions as keys there are none.

    Values that differ by rounding count as different: then less weight can be moved, never more.
    """
    scale = float(np.abs(values).max()) or 1.0
    conditions = np.concatenate([values / scale, np.ones((len(values), 1))], 1, dtype=np.float64)
    basis, strengths, _ = np.linalg.svd(conditions, full_matrices=False)
    kept: np.ndarray = basis[:, strengths > _RANK * strengths[0]]
    return kept


def least_weight(
    weights: Row, values: Float[np.ndarray, "keys size"], kept: Float[np.ndarray, "keys rank"], top: int
) -> Row | None:
    """The weights with the least on `top` among those with the same output; None if they cannot be found exactly."""
    own = weights.astype(np.float64)
    cost = np.zeros(len(own))
    cost[top] = 1
    options = {"primal_feasibility_tolerance": _FEASIBLE, "dual_feasibility_tolerance": _FEASIBLE}
    given = {"A_eq": kept.T, "b_eq": kept.T @ own, "bounds": (0, None), "method": "highs", "options": options}
    solved = optimizer().linprog(cost, **given)
    if solved.x is None:
        return None
    found: Row = np.maximum(solved.x, 0)
    return found if is_same(own, found, values) and found[top] <= own[top] + TOLERANCE else None


def is_same(weights: Row, others: Row, values: Float[np.ndarray, "keys size"]) -> bool:
    output = weights @ values
    missed = float(np.linalg.norm(others @ values - output))
    return missed <= TOLERANCE * float(np.linalg.norm(output)) and abs(others.sum() - weights.sum()) <= TOLERANCE


def optimizer() -> Any:
    try:
        return import_module("scipy.optimize")
    except ImportError as error:
        raise InputError(
            "The trial unidentified needs scipy, which is not installed: pip install 'attentest[hf]'"
        ) from error
