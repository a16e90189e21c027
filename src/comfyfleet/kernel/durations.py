"""How long something takes or took, in words: as exact as a reader needs. The only place that says it.

In the text of an error: `{limit_s:time}`. In the web app the same is `web/src/parts/times.ts`.
"""

from string import Formatter
from typing import Any


def seconds_text(seconds: float) -> str:
    """12 s, 4.2 s, 5 min, 1.5 h, 3 days."""
    amount = abs(seconds)
    if 0 < amount < 0.05:
        return "under 0.1 s"
    if amount < 119.5:
        return f"{_number(amount)} s"
    if amount < 7_170:
        return f"{_number(amount / 60)} min"
    if amount < 127_800:
        return f"{_number(amount / 3_600)} h"
    days = _number(amount / 86_400)
    return f"{days} day" if days == "1" else f"{days} days"


def _number(amount: float) -> str:
    """Below ten with one decimal, unless that is none."""
    return f"{amount:.1f}".removesuffix(".0") if amount < 9.95 else f"{amount:.0f}"


class _WithTimes(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if format_spec == "time":
            return seconds_text(float(value))
        return str(super().format_field(value, format_spec))


format_with_times = _WithTimes().vformat
