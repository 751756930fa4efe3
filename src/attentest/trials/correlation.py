"""T8: do attention weights agree with the importance of tokens and of hidden states?"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import ClassVar

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float
from torch import Tensor

from attentest.importance.erasure import leave_one_out, removed_probabilities
from attentest.importance.gradients import hidden_gradients, input_gradients
from attentest.measures.divergences import tvd
from attentest.measures.intervals import Estimate, bootstrap
from attentest.measures.kendall import kendall_tau
from attentest.trials.base import Columns, Conclusion, SimpleTrial, column
from attentest.trials.charts import boxes
from attentest.trials.reading import Reading
from attentest.trials.removal import sums_without_each, without

ATTENTION = "attention"
SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Correlation(SimpleTrial):
    """Kendall's τ-b of attention with each importance measure, and between the measures: the ceiling it could reach.

    Inputs: |gradient × input| with attention held fixed (JW) and not, the L2 norm of the gradient (ME eq. 4), and
    leave-one-out with the token truly removed (ME eq. 6, JW). Hidden states: gradient, and leave-one-out from the
    attention alone.
    """

    name: ClassVar[str] = "correlation"
    question: ClassVar[str] = "Does attention rank tokens as other measures of importance do?"
    source: ClassVar[str] = "Jain & Wallace 2019 §4.1, Table 2; Meister et al. 2021 §4, Table 6"
    needs: ClassVar[str] = "attention weights and gradients"

    tolerance: float = 1e-6  # of leave-one-out on a BiLSTM

    def examine(self, reading: Reading) -> Columns:
        scores = {ATTENTION: reading.weights} | importances(reading, self.tolerance)
        columns: dict[str, np.ndarray] = {}
        for first, second in combinations(scores, 2):
            tau, p = kendall_tau(scores[first], scores[second], reading.mask)
            columns |= {f"tau {first} – {second}": tau, f"p {first} – {second}": p}
        return columns

    def conclude(self, table: pa.Table) -> Conclusion:
        pairs = [name.removeprefix("tau ") for name in table.column_names if name.startswith("tau ")]
        predicted = column(table, "predicted")
        summary: dict[str, Estimate] = {}
        rows = []
        for pair in pairs:
            tau, p = column(table, f"tau {pair}"), column(table, f"p {pair}")
            summary[f"τ {pair}"] = bootstrap(tau)
            summary[f"std {pair}"] = bootstrap(tau, np.std)
            summary[f"significant {pair}"] = bootstrap(np.where(np.isnan(p), np.nan, p < SIGNIFICANT))
            for name in sorted(set(predicted)):
                summary[f"τ {pair}, {name}"] = bootstrap(tau[predicted == name])
            rows += [{"pair": pair, "tau": round(float(v), 4)} for v in tau[~np.isnan(tau)]]
        with_attention = [pair for pair in pairs if pair.startswith(f"{ATTENTION} – ")]
        between = [summary[f"τ {pair}"].value for pair in pairs if pair not in with_attention]
        best = max(with_attention, key=lambda pair: summary[f"τ {pair}"].value)
        answer = (
            f"Attention agrees best with {best.removeprefix(f'{ATTENTION} – ')}, τ = {summary[f'τ {best}']}; the "
            f"measures agree among themselves with τ from {np.nanmin(between):.2f} to {np.nanmax(between):.2f}."
        )
        return Conclusion(answer, summary, boxes(rows, "pair", "tau", "Kendall τ-b", pairs))


def importances(reading: Reading, tolerance: float) -> dict[str, Float[Tensor, "batch tokens"]]:
    fixed = input_gradients(reading.model, reading.batch, through_attention=False)  # type: ignore[arg-type]
    through = input_gradients(reading.model, reading.batch)  # type: ignore[arg-type]
    removed = removed_probabilities(reading.model, reading.batch, tolerance=tolerance)
    return {
        "gradient × input, attention fixed": fixed.times_input,
        "gradient × input": through.times_input,
        "gradient": through.l2,
        "leave-one-out": leave_one_out(reading.probabilities, removed, reading.mask),
        "hidden gradient": hidden_gradients(reading.model, reading.encoded).l2,
        "hidden leave-one-out": hidden_leave_one_out(reading),
    }


def hidden_leave_one_out(reading: Reading) -> Float[Tensor, "batch tokens"]:
    """TVD(ŷ, ŷ with h_i dropped from the attention and the rest renormalised); 0 where nothing else has weight."""
    if reading.token_logits is not None and reading.bias is not None:
        added = reading.weights.unsqueeze(-1) * (reading.token_logits + reading.bias)
        rest = sums_without_each(reading.weights).unsqueeze(-1)
        tiny = torch.finfo(rest.dtype).tiny
        logits = torch.where(rest > 0, sums_without_each(added) / rest.clamp(min=tiny), reading.logits.unsqueeze(1))
    else:
        every = torch.arange(reading.mask.shape[1], device=reading.mask.device).expand(len(reading.batch), -1)
        logits = reading.decode(without(reading.weights, every))
    return tvd(logits.softmax(-1), reading.probabilities.unsqueeze(1)).masked_fill(~reading.mask, 0)
