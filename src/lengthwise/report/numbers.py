"""Numbers as people read them."""

import math


def number(value: float) -> str:
    """Three significant digits, without an exponent where it can be helped."""
    if math.isnan(value):
        return "none"
    if math.isinf(value):
        return str(value)
    if abs(value) >= 1e5 or 0 < abs(value) < 1e-4:
        return f"{value:.2e}"
    if abs(value) >= 999.5:
        return f"{value:.0f}"
    return f"{value:#.3g}".rstrip(".")


def interval(low: float, high: float) -> str:
    """An interval, or that one value or none says nothing of its spread."""
    return f"{number(low)} to {number(high)}" if math.isfinite(high - low) else "no interval"
