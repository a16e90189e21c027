"""Where a test may end this process as a power cut would: COMFYFLEET_TEST_DIE_AT names the step. Else nothing happens."""

import os
import signal

VARIABLE = "COMFYFLEET_TEST_DIE_AT"
_DIE_AT = os.environ.get(VARIABLE)


def reached(step: str) -> None:
    if _DIE_AT is not None and step == _DIE_AT:
        os.kill(os.getpid(), signal.SIGKILL)
