"""What looks like a secret, by its name or its shape, is masked before anybody reads it."""

import re
from typing import Any

MASK = "**********"
SECRET_NAME = re.compile(
    r"secret|password|token|authorization|cookie|signature|api[-_]?key|passwd|credential|dsn", re.IGNORECASE
)
# Keys, signed object URLs, one-time links, webhook secrets, credentials inside URLs, password hashes, and the
# values of a statement that failed (a traceback holds them), wherever they turn up.
SECRET_TEXT = re.compile(
    r"cf_[0-9a-f]{16}_[\w-]+|cfs_[\w-]{20,}|(?<=/objects/)[\w.~-]+|(?<=token=)[\w.~-]+|whsec_[\w+/=-]+"
    r"|(?<=Bearer )[\w.~+/=-]+|(?<=X-Amz-Signature=)\w+|(?<=X-Goog-Signature=)\w+|(?<=://)[^\s/@:]+:[^\s/@]+(?=@)"
    r"|\$argon2\w*\$[\w$+/=,.-]+|(?<=\[parameters: )[^\n]+|(?<=Failing row contains )[^\n]+",
)


def masked(value: Any, *, numbers: bool = True) -> Any:
    """The same value, strings and named fields masked at any depth. `numbers`: of named fields, too."""
    if isinstance(value, str):
        return SECRET_TEXT.sub(MASK, value)
    if isinstance(value, dict):
        return {name: _named(str(name), inner, numbers=numbers) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(inner, numbers=numbers) for inner in value]
    return value


def _named(name: str, value: Any, *, numbers: bool) -> Any:
    hides = SECRET_NAME.search(name) and (numbers or not isinstance(value, bool | int | float | None))
    return MASK if hides else masked(value, numbers=numbers)
