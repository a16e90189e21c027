"""A reader of the documentation: a folder as `make up` leaves it, `up` in one terminal, a page followed in another."""

import os
import re
import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import httpx2

from tests.journeys.docs_pages import ROOT, Step, fences, steps
from tests.journeys.docs_promises import Ids, missing, real_ids
from tests.journeys.terminal import SIZE, Terminal
from tests.journeys.warm_commands import warm_commands
from tests.server import environment, free_port

# What the first terminal runs: started by the test, once for all pages.
STARTED = ("make up", "comfyfleet up")
UP_WITHIN_S = 60
STEP_WITHIN_S = 300
# A shell that takes a step at a time from a pipe; what fails is named, and the next line runs, as at a prompt.
SHELL = """
trap 'code=$?; [[ $BASH_COMMAND == eval* ]] || printf "\\036failed with %s: %s\\n" "$code" "$BASH_COMMAND"' ERR
while IFS= read -r -d '' step <&{pipe}; do
  eval "$step"
  printf '\\036done\\n'
done
"""
DONE, FAILED = "\x1edone\n", "\x1efailed"


@dataclass(frozen=True)
class Stage:
    """What a reader of a page brings along, and what others do meanwhile."""

    first: str = ":"
    before: Mapping[str, str] = field(default_factory=dict)  # first line of a step: what happens before it
    instead: Mapping[str, str] = field(default_factory=dict)  # words of the page: what stands for them here

    def here(self, step: Step) -> Step:
        typed, promised = step.typed, step.promised
        for words, ours in self.instead.items():
            typed = typed.replace(words, ours)
            promised = promised and promised.replace(words, ours)
        return Step(step.fence, typed, promised)


@dataclass
class Reader:
    folder: Path
    up: Terminal
    port: int
    followed: dict[str, list[str]] = field(default_factory=dict)

    @property
    def engine(self) -> str:
        """Host and port of the ComfyUI that `up` came with."""
        return self.up.printed.partition("Engine on http://")[2].partition(",")[0]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def get(self, path: str, key_file: str = "demo.key") -> httpx2.Response:
        key = (self.folder / ".comfyfleet" / key_file).read_text().strip()
        return httpx2.get(f"{self.url}{path}", headers={"Authorization": f"Bearer {key}"}, timeout=20)

    def first_time(self, page: str) -> list[str]:
        """What was wrong when this page was first followed here."""
        if page not in self.followed:
            self.followed[page] = self.follow(page)
        return self.followed[page]

    def follow(self, page: str, stage: Stage | None = None) -> list[str]:
        """Types what the page says, in one shell; returns what was not as the page shows."""
        ids: Ids = {}
        with _Shell(self) as shell:
            if stage is not None:
                self._set(shell, f". .venv/bin/activate\n{stage.first}")
            wrong = []
            for step in steps(fences(page)):
                self._set(shell, stage.before.get(step.typed.splitlines()[0], "") if stage else "")
                wrong += self._take(stage.here(step) if stage else step, shell, ids)
            return wrong

    def _set(self, shell: "_Shell", typed: str) -> None:
        said = shell.run(self._here(typed)) if typed else ""
        assert FAILED not in said, said

    def follow_again(self, page: str, but: tuple[str, ...] = ()) -> list[str]:
        """The page once more: only what is there already may be refused. Without the commands of `but`."""
        with _Shell(self) as shell:
            typed = [step.typed for step in steps(fences(page)) if step.typed.strip() not in (*STARTED, *but)]
            said = [(each, shell.run(self._here(each))) for each in typed]
        return [f"{page}, again\n── typed\n{each}\n── printed\n{printed}" for each, printed in said if _fails(printed)]

    def _take(self, step: Step, shell: "_Shell", ids: Ids) -> list[str]:
        if step.typed.strip() in STARTED:
            said = self.up.printed
        else:
            said = shell.run(self._here(real_ids(step.typed, ids)), step.promised or "")
        wrong = [] if step.promised is None else missing(self._here(step.promised), said, ids)
        if not wrong and FAILED not in said:
            return []
        return [f"{step.fence.name}\n── typed\n{step.typed}\n── wrong\n" + "\n".join(wrong) + f"\n── printed\n{said}"]

    def _here(self, typed: str) -> str:
        """Addresses of the page, as they are here. Two servers of the page are one."""
        port = self.engine.rpartition(":")[2]
        for shown, here in (
            (r"https://fleet\.example\.com", self.url),
            (r"(localhost|127\.0\.0\.1):8700", f"127.0.0.1:{self.port}"),
            (r"(gpu-1|127\.0\.0\.1):8188", f"127.0.0.1:{port}"),
            (r"gpu-2:8188", f"localhost:{port}"),
        ):
            typed = re.sub(shown, here, typed)
        return typed


def _fails(printed: str) -> bool:
    refused = printed.count("error (already_exists)")
    return printed.count(FAILED) > refused


class _Shell:
    def __init__(self, reader: Reader) -> None:
        env = {**environment(reader.folder, PORT=str(reader.port)), **SIZE, "COMFYFLEET_URL": reader.url}
        pipe, self._steps = os.pipe()
        command = ["bash", "--norc", "-c", SHELL.replace("{pipe}", str(pipe))]
        self._terminal = Terminal(command, env, reader.folder, reader.folder / "reader.log", keep=[pipe])
        os.close(pipe)

    def run(self, typed: str, promised: str = "") -> str:
        since = len(self._terminal.printed)
        os.write(self._steps, typed.encode() + b"\0")
        for question, answer in re.findall(r"^(.*\?.*:) (\w+)$", promised, re.M):
            if self._terminal.wait_for((question, DONE), since, STEP_WITHIN_S) == question:
                self._terminal.type(f"{answer}\n")
        done = self._terminal.wait_for((DONE,), since, STEP_WITHIN_S)
        said = self._terminal.printed[since:]
        return said.replace(DONE, "") if done else f"{said}\n{FAILED}: it does not end"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._steps)
        self._terminal.close()


@contextmanager
def reader(folder: Path, **settings: str) -> Iterator[Reader]:
    """`up` with engine, worker and demo runs while it lasts."""
    programs = _folder_as_made(folder)
    port = free_port()
    with warm_commands(programs / "comfyfleet", folder / "warm"):
        up = Terminal(
            [sys.executable, "-m", "comfyfleet", "up", "--port", str(port)],
            {**environment(folder, **settings), **SIZE},
            folder,
            folder / "out.txt",
        )
        try:
            for each in ("a start makes new ones", "worker.at_work"):
                assert up.wait_for((each,), 0, UP_WITHIN_S), up.printed
            yield Reader(folder, up, port)
            assert up.interrupt() == 0
        finally:
            up.close()


def _folder_as_made(folder: Path) -> Path:
    programs = folder / ".venv" / "bin"
    programs.mkdir(parents=True)
    (programs / "activate").write_text(f'export PATH="{programs}:$PATH"\n')
    for name in ("python", "python3"):
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
        (programs / name).chmod(0o755)
    shutil.copytree(ROOT / "examples", folder / "examples")
    (folder / "docs").symlink_to(ROOT / "docs")
    return programs
