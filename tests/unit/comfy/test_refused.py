"""Refused, or something else that went wrong with a connection."""

import errno

import pytest

from comfyfleet.comfy.refused import was_refused

REFUSED = ConnectionRefusedError(errno.ECONNREFUSED, "Connect call failed ('127.0.0.1', 9)")
RESET = ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
# As asyncio says it of a name with two addresses.
BOTH = OSError("Multiple exceptions: [Errno 111] Connect call failed ('::1', 9), [Errno 111] Connect call failed (…)")
ONE_OF_TWO = OSError("Multiple exceptions: [Errno 101] Network is unreachable, [Errno 111] Connect call failed (…)")


def caused_by(cause: BaseException) -> BaseException:
    error = RuntimeError("All connection attempts failed")
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "refused"),
    [
        (REFUSED, True),
        (caused_by(REFUSED), True),
        (caused_by(ExceptionGroup("", [REFUSED, REFUSED])), True),
        (ExceptionGroup("", [REFUSED, RESET]), False),
        (BOTH, True),
        (ONE_OF_TWO, False),
        (RESET, False),
        (TimeoutError(), False),
        (OSError("no route"), False),
    ],
)
def test_refused_is_what_every_address_refused(error: BaseException, refused: bool) -> None:
    assert was_refused(error) is refused
