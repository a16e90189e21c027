"""Label values from outside are bounded: each new value is a time series that Prometheus keeps for weeks."""

OTHER = "other"


class BoundedLabel:
    """The first `values_max` values keep their names; later ones are counted as `other`."""

    def __init__(self, values_max: int) -> None:
        self._values_max = values_max
        self._known: set[str] = set()

    @property
    def values(self) -> frozenset[str]:
        return frozenset(self._known)

    def __call__(self, value: str) -> str:
        if value in self._known:
            return value
        if len(self._known) >= self._values_max:
            return OTHER
        self._known.add(value)
        return value
