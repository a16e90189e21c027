"""How long to wait before trying again. Pure: chance comes in as a number from 0 to 1."""

BASE_S = 2.0
CEILING_S = 300.0


def backoff_s(attempt: int, *, chance: float, base_s: float = BASE_S, ceiling_s: float = CEILING_S) -> float:
    """Doubles with each attempt, from half to the whole of it by chance, so that many do not come back at once."""
    # The exponent is bounded before it is used: 2 ** 5000 is a number that no float holds.
    whole = min(ceiling_s, base_s * 2.0 ** min(max(attempt - 1, 0), 32))
    return whole * (0.5 + chance / 2)
