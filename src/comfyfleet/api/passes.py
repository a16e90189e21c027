"""One-time passes of this process: `comfyfleet up` prints them, and whoever opens one is logged in.

They live in memory: a pass is worth a login without a password, and should not outlive the terminal that shows it.
"""

import time
from collections.abc import Callable

from comfyfleet.kernel.secret import Secret, new_secret

LIVES_S = 24 * 3600.0
PASSES_MAX = 16


class Passes:
    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[str, tuple[str, float]] = {}

    def mint(self, email: str) -> Secret:
        secret = new_secret()
        while len(self._kept) >= PASSES_MAX:
            del self._kept[next(iter(self._kept))]
        self._kept[secret.digest()] = (email, self._clock() + LIVES_S)
        return secret

    def spend(self, presented: Secret) -> str | None:
        """Whose it was; None: it was used, is too old, or never was one."""
        email, until = self._kept.pop(presented.digest(), (None, 0.0))
        return email if self._clock() < until else None
