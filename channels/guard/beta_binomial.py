"""The probability that a share is below a bound, given counts and a prior."""

import math


def share_below(bound: float, hits: float, misses: float, prior: float, strength: float) -> float:
    """P(share < bound) where the prior, a share, counts as `strength` trials."""
    a, b = hits + strength * prior, misses + strength * (1 - prior)
    return _regularised_beta(max(a, 1e-6), max(b, 1e-6), min(1.0, max(0.0, bound)))


def _regularised_beta(a: float, b: float, x: float) -> float:
    if x <= 0 or x >= 1:
        return float(x >= 1)
    front = math.exp(
        math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    )
    if x < (a + 1) / (a + b + 2):
        return front * _fraction(a, b, x) / a
    return 1 - front * _fraction(b, a, 1 - x) / b


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method."""
    tiny = 1e-300
    c, d = 1.0, 1 / (_nonzero(1 - (a + b) * x / (a + 1), tiny))
    value = d
    for m in range(1, 300):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / _nonzero(1 + factor * d, tiny)
            c = _nonzero(1 + factor / c, tiny)
            value *= c * d
        if abs(c * d - 1) < 1e-10:
            break
    return value


def _nonzero(value: float, tiny: float) -> float:
    return value if abs(value) > tiny else tiny
