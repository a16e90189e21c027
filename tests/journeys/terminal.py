"""A terminal as a reader has one: what a process prints there, and what is typed."""

import contextlib
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

LINES, COLUMNS = 50, 140
# For programs that ask no terminal for its size.
SIZE = {"LINES": str(LINES), "COLUMNS": str(COLUMNS)}
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r")
END_WITHIN_S = 20


class Terminal:
    """`command` in a terminal of its own, in a session of its own. `log` keeps what was printed."""

    def __init__(
        self, command: Sequence[str], env: Mapping[str, str], cwd: Path, log: Path, *, keep: Sequence[int] = ()
    ) -> None:
        self._changed = threading.Condition()
        self._printed = ""
        self._screen, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command,
            env={**env, "TERM": "dumb"},
            cwd=cwd,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            pass_fds=keep,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, args=(log,), daemon=True)
        self._reader.start()

    @property
    def printed(self) -> str:
        with self._changed:
            return self._printed

    def wait_for(self, texts: Sequence[str], since: int, within_s: float) -> str | None:
        """The first of `texts` that was printed, after the first `since` characters."""

        def found() -> str | None:
            return next((text for text in texts if text in self._printed[since:]), None)

        with self._changed:
            self._changed.wait_for(lambda: found() or not self._reader.is_alive(), within_s)
            return found()

    def type(self, text: str) -> None:
        os.write(self._screen, text.encode())

    def interrupt(self) -> int:
        """Ctrl-C, for a program that is alone in its terminal."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(END_WITHIN_S)

    def close(self) -> None:
        """Ends all that was started here, also in the background."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join(END_WITHIN_S)
        os.close(self._screen)

    def _read(self, log: Path) -> None:
        left = b""
        # OSError: nobody has the other end open any more.
        with log.open("a") as kept, contextlib.suppress(OSError):
            while got := os.read(self._screen, 2**16):
                whole, left = _whole(left + got)
                text = CONTROL.sub("", whole)
                kept.write(text)
                kept.flush()
                with self._changed:
                    self._printed += text
                    self._changed.notify_all()
        with self._changed:
            self._changed.notify_all()


def _whole(got: bytes) -> tuple[str, bytes]:
    """Characters that came in one piece, and the rest."""
    for cut in range(min(4, len(got) + 1)):
        with contextlib.suppress(UnicodeDecodeError):
            end = len(got) - cut
            return got[:end].decode(), got[end:]
    return got.decode(errors="replace"), b""
