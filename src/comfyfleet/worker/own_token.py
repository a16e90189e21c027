"""The worker's own token on disk: with it, a crashed worker takes its name back in one request.

    worker.token        the token of its last life; `workers rotate-token` prints one to put here
    worker.token.next   what it proposes for the life to come, written before the request that carries it

A registration whose reply was lost is repeated with the same proposal, so that the control plane knows it again.
A folder that cannot be written costs only the proof: after a crash the worker waits until its name is free.
"""

import asyncio
import os
from pathlib import Path

import structlog

from comfyfleet.kernel.secret import Secret, new_secret

FILE, NEXT = "worker.token", "worker.token.next"
TOKEN_BYTES = 48
TOKEN_CHARACTERS_MAX = 128

log = structlog.get_logger()


class OwnToken:
    """`last` and `proposed` are None where there is none yet."""

    def __init__(self, home: Path) -> None:
        self._home = home
        self.last: Secret | None = None
        self.proposed: Secret | None = None

    def read(self) -> None:
        self.last, self.proposed = _read(self._home / FILE), _read(self._home / NEXT)

    async def propose(self) -> Secret:
        """The same until a registration is answered."""
        if self.proposed is None:
            self.proposed = new_secret(size=TOKEN_BYTES)
            await asyncio.to_thread(self._write, NEXT, self.proposed)
        return self.proposed

    async def keep(self, token: Secret) -> None:
        """What the control plane answered: the token of this life."""
        self.last, self.proposed = token, None
        if await asyncio.to_thread(self._write, FILE, token):
            await asyncio.to_thread((self._home / NEXT).unlink, missing_ok=True)

    def _write(self, name: str, token: Secret) -> bool:
        path = self._home / name
        fresh = path.with_name(f"{name}.new")
        try:
            fresh.unlink(missing_ok=True)
            descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as file:
                file.write(token.reveal() + "\n")
                file.flush()
                os.fsync(file.fileno())
            fresh.replace(path)
        except OSError as problem:
            log.warning(
                "worker.token_not_kept",
                file=str(path),
                problem=f"{problem.strerror or problem}: after a crash this worker waits until its name is free",
            )
            return False
        return True


def _read(path: Path) -> Secret | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as problem:
        log.warning("worker.token_unreadable", file=str(path), problem=str(problem)[:200])
        return None
    return Secret(text) if 0 < len(text) <= TOKEN_CHARACTERS_MAX else None
