"""`comfyfleet …` typed in a shell, without the second that loading the code takes.

The program in the shell (`PROGRAM`) hands its words, its environment and its open terminal to this process, which has
the code loaded and forks. How a command starts from nothing is asked by tests that call Python.
"""

import os
import select
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from subprocess import PIPE, Popen

from tests.journeys.terminal import SIZE

PROGRAM = """\
#!{python} -ISE
import os, socket, sys
with socket.socket(socket.AF_UNIX) as to:
    to.connect("{path}")
    env = b"\\0".join(name + b"=" + value for name, value in os.environb.items())
    said = b"\\1".join([os.getcwdb(), b"\\0".join(map(os.fsencode, sys.argv[1:])), env])
    socket.send_fds(to, [len(said).to_bytes(4, "big")], [0, 1, 2])
    to.sendall(said)
    sys.exit(int(to.recv(8) or b"1"))
"""


@contextmanager
def warm_commands(program: Path, path: Path) -> Iterator[None]:
    """Writes `program`, and serves it at the socket `path`."""
    command = [sys.executable, "-m", "tests.journeys.warm_commands", str(path)]
    with Popen(command, stdout=PIPE, env=_without_settings(), cwd=Path(__file__).parents[2]) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"ready\n"
            program.write_text(PROGRAM.format(python=sys.executable, path=path))
            program.chmod(0o755)
            yield
        finally:
            process.kill()


def _without_settings() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COMFYFLEET_")}
    # Rich asks for them once, when the code is loaded.
    return {**kept, **SIZE, "TERM": "dumb"}


def _serve(path: str) -> None:
    from comfyfleet.cli.groups import GROUPS

    for module in ("main", *(group.module for group in GROUPS.values())):
        import_module(f"comfyfleet.cli.{module}")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(16)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        while True:
            caller, _ = listener.accept()
            if os.fork() == 0:
                listener.close()
                _answer(caller)
            caller.close()


def _answer(caller: socket.socket) -> None:
    """In a process of its own: runs the command in another, and says how it ended; ends it when the caller goes."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    head, streams, _, _ = socket.recv_fds(caller, 4, 3)
    said = b""
    while len(said) < int.from_bytes(head, "big"):
        said += caller.recv(2**16)
    ended, lives = os.pipe()
    if (command := os.fork()) == 0:
        caller.close()
        os.close(ended)
        _command(said, streams)
    for each in (lives, *streams):
        os.close(each)
    ready, _, _ = select.select([ended, caller], [], [])
    if ended not in ready:
        os.killpg(command, signal.SIGKILL)
    _, status = os.waitpid(command, 0)
    if ended in ready:
        caller.sendall(str(os.waitstatus_to_exitcode(status)).encode())
    os._exit(0)


def _command(said: bytes, streams: list[int]) -> None:
    os.setsid()
    folder, words, env = said.split(b"\1", 2)
    os.environb.clear()
    os.environb.update(dict(pair.split(b"=", 1) for pair in env.split(b"\0")))
    os.chdir(folder)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False, buffering=1)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    sys.modules["__main__"].__package__ = ""  # usage names the program, not this module
    sys.argv = ["comfyfleet", *(os.fsdecode(word) for word in words.split(b"\0") if words)]
    from comfyfleet.cli.main import run

    run()
    sys.exit()


if __name__ == "__main__":
    _serve(sys.argv[1])
