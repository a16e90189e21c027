"""Where the request that is being answered came to, for URLs in its answer.

Programs get whole URLs. A page of ours gets paths: its browser knows by which name and scheme it came, and we may not.
"""

import re
from contextvars import ContextVar

HOST = re.compile(r"(?:[A-Za-z0-9.-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::\d{1,5})?")
_origin: ContextVar[str] = ContextVar("origin", default="")


def answer_to(scheme: str, host: str, *, is_page: bool) -> None:
    """For the rest of this request. A host that is none is not repeated."""
    _origin.set(f"{scheme}://{host}" if not is_page and HOST.fullmatch(host) else "")


def absolute(path: str) -> str:
    """As it is where no request is being answered."""
    return f"{_origin.get()}{path}"
