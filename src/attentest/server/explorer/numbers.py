"""Numbers as they are sent: as short as they can be and still be the same number of single precision."""

from __future__ import annotations

from typing import Any

import numpy as np
from torch import Tensor


def sent(values: Tensor | np.ndarray) -> Any:
    """Nested lists; double precision is sent as it is."""
    found = values.detach().cpu().numpy() if isinstance(values, Tensor) else values
    if found.dtype == np.float64:
        return found.tolist()
    return found.astype(np.float32).astype("U32").astype(np.float64).tolist()
