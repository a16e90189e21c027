"""Passwords: argon2id, in a thread, never inside a transaction (a hash takes a tenth of a second)."""

from functools import cache

import anyio
import anyio.to_thread
from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.secret import Secret

PASSWORD_CHARS_MIN = 12
PASSWORD_CHARS_MAX = 1024

# Each takes 64 MiB while it runs: a flood of logins must wait, not fill the memory.
HASHES_AT_ONCE_MAX = 4

_hasher = PasswordHasher()
_turns = anyio.CapacityLimiter(HASHES_AT_ONCE_MAX)


async def hash_password(password: Secret) -> str:
    length = len(password.reveal())
    if not PASSWORD_CHARS_MIN <= length <= PASSWORD_CHARS_MAX:
        raise InvalidInput("password", f"must have {PASSWORD_CHARS_MIN} to {PASSWORD_CHARS_MAX} characters")
    return await anyio.to_thread.run_sync(_hasher.hash, password.reveal(), limiter=_turns)


async def check_password(password: Secret, password_hash: str | None) -> bool:
    """Without a hash there is no such user; the check is done all the same, so that both answers take as long."""
    held = await anyio.to_thread.run_sync(_verify, password.reveal(), password_hash or _nobodys_hash(), limiter=_turns)
    return held and password_hash is not None


@cache
def _nobodys_hash() -> str:
    return _hasher.hash("nobody has this password")


def _verify(password: str, password_hash: str) -> bool:
    try:
        return _hasher.verify(password_hash, password)
    except (VerificationError, InvalidHashError):
        return False
