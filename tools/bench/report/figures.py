"""Percentiles, medians and ratios."""

from collections.abc import Iterable, Sequence
from math import ceil
from statistics import median

__all__ = ["median", "percentile", "ratios"]


def percentile(values: Iterable[float], share: float) -> float:
    """The smallest value that at least this share of them does not exceed."""
    ordered = sorted(values)
    return ordered[max(0, ceil(share * len(ordered)) - 1)]


def ratios(base: Sequence[float], subject: Sequence[float]) -> tuple[float, list[float]]:
    """The ratio of the medians, and that of each round."""
    rounds = [b / a if a else 0.0 for a, b in zip(base, subject, strict=True)]
    middle = median(base)
    return (median(subject) / middle if middle else 0.0), rounds
