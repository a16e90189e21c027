"""`python -m comfyfleet.cli.up.tied PARENT …`: runs `comfyfleet …`, and ends when PARENT does, however that ended.

The process asks the kernel itself, after it was started: code between fork and exec is not safe in a process with
threads.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def tie_to(parent: int) -> None:
    """SIGKILL, because nobody is left to wait for more: whatever runs tied must be fit to be killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it was gone before we asked
        sys.exit(1)


if __name__ == "__main__":
    tie_to(int(sys.argv[1]))
    from comfyfleet.cli.main import run

    sys.argv = ["comfyfleet", *sys.argv[2:]]
    run()
