"""McNemar's test: do two yes/no outcomes on the same texts differ in rate?"""

from __future__ import annotations

import math


def mcnemar_p(only_first: int, only_second: int) -> float:
    """Two-sided exact p: under no difference, each discordant text is a fair coin."""
    n = only_first + only_second
    if n == 0:
        return 1.0
    fewer = min(only_first, only_second)
    # in logarithms: the coefficients of a thousand discordant texts overflow a float
    logs = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in range(fewer + 1)]
    return min(1.0, 2 * sum(math.exp(value - n * math.log(2)) for value in logs))
