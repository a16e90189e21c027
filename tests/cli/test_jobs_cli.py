"""`comfyfleet jobs …` against a real server: tables for people, JSON for programs, a Ctrl-C that loses nothing."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from comfyfleet.cli.jobs_bar import Bar
from comfyfleet.cli.jobs_run import typed_properties
from comfyfleet.cli.main import run
from comfyfleet.client import Client, Effect, EffectProperty, InvalidInput, Progressed, StatusChanged
from tests.client.fleet import NEGATIVE, PHOTO, Fleet, a_fleet
from tests.server import environment


@dataclass(frozen=True)
class Said:
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Comfyfleet = Callable[..., Said]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    with a_fleet(tmp_path_factory.mktemp("fleet")) as found:
        yield found


@pytest.fixture
def comfyfleet(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Comfyfleet:
    """The command in this process: thirty starts of an interpreter would take half a minute."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMFYFLEET_URL", fleet.url)
    monkeypatch.setenv("COMFYFLEET_API_KEY", fleet.key)
    (tmp_path / "photo.png").write_bytes(PHOTO)

    def command(*arguments: str, code: int = 0) -> Said:
        monkeypatch.setattr(sys, "argv", ["comfyfleet", *arguments])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        said = Said(*capsys.readouterr())
        assert (ended.value.code or 0) == code, said
        return said

    return command


def test_a_picture_goes_there_and_comes_back(fleet: Fleet, comfyfleet: Comfyfleet, tmp_path: Path) -> None:
    with fleet.worker(jobs=2):
        said = comfyfleet("jobs", "run", fleet.effect, "photo.png", "--set", "title=my film")
        assert said.out.split("\t")[:2] == ["out/negative.png", "image/png"]
        assert "12 tokens." in said.err
        assert (tmp_path / "out" / "negative.png").read_bytes() == NEGATIVE
        told = comfyfleet("jobs", "run", fleet.effect, "photo.png", "--json")
    assert told.err == ""
    [file] = told.json["files"]
    assert (file["path"], file["size"], file["is_primary"]) == ("out/negative-2.png", len(NEGATIVE), True)
    assert told.json["job"]["status"] == "completed"
    job_id = told.json["job"]["id"]
    assert comfyfleet("jobs", "show", job_id, "--json").json["id"] == job_id
    shown = comfyfleet("jobs", "show", job_id).out
    assert "completed" in shown
    assert "negative.png" in shown
    assert job_id in comfyfleet("jobs", "list", "--status", "completed").out
    assert [job["id"] for job in comfyfleet("jobs", "list", "--limit", "1", "--json").json] == [job_id]
    assert "copy/negative.png" in comfyfleet("jobs", "download", job_id, "--out", "copy").out
    assert "Completed" in comfyfleet("jobs", "watch", job_id).err


def test_a_job_is_left_cancelled_and_tried_again(fleet: Fleet, comfyfleet: Comfyfleet) -> None:
    made = comfyfleet("jobs", "run", fleet.effect, "photo.png", "--no-wait")
    job_id = made.out.strip()
    assert f"comfyfleet jobs watch {job_id}" in made.err
    assert "job_still_running" in comfyfleet("jobs", "watch", job_id, "--wait-s", "0.3", code=6).err
    assert "12 tokens came back" in comfyfleet("jobs", "cancel", job_id).out
    assert "was cancelled" in comfyfleet("jobs", "watch", job_id, code=1).err
    assert "nothing of it to save" in comfyfleet("jobs", "download", job_id, code=2).err
    again = comfyfleet("jobs", "retry", job_id, "--json").json
    assert (again["retry_of"], again["status"]) == (job_id, "queued")
    assert comfyfleet("jobs", "cancel", again["id"], "--json").json["status"] == "cancelled"


def test_what_goes_wrong_has_a_sentence_and_an_exit_code(
    fleet: Fleet, comfyfleet: Comfyfleet, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "there is no file 'none.png'" in comfyfleet("jobs", "run", fleet.effect, "none.png", code=2).err
    wrong = comfyfleet("jobs", "run", fleet.effect, "photo.png", "--set", "titel=x", code=2).err
    assert "It has: photo, title" in wrong
    assert "not_found" in comfyfleet("jobs", "run", "nothing", "photo.png", code=3).err
    assert "no id of a job" in comfyfleet("jobs", "show", "17", code=2).err
    error = json.loads(comfyfleet("jobs", "run", fleet.effect, "--json", code=2).err)["error"]
    assert (error["code"], error["details"]["field"]) == ("invalid_input", "video_id")
    assert "no folder" in comfyfleet("jobs", "run", fleet.effect, "photo.png", "--out", "photo.png", code=2).err
    away = comfyfleet("jobs", "list", "--url", "http://127.0.0.1:1", code=6).err
    assert "COMFYFLEET_URL" in away
    monkeypatch.delenv("COMFYFLEET_API_KEY")
    assert "api_key_missing" in comfyfleet("jobs", "list", code=5).err


def test_the_users_variables_are_no_wrong_settings(comfyfleet: Comfyfleet) -> None:
    assert "no comfyfleet in" in comfyfleet("tenants", "list", code=3).err


def test_values_become_what_the_effect_wants() -> None:
    kinds = ["text", "number", "integer", "seed", "boolean", "choice", "image"]
    properties = [EffectProperty(kind, kind, choices=[1, "b"] if kind == "choice" else None) for kind in kinds]
    effect = Effect("id", "slug", "Name", properties=properties)
    given = {"text": "7", "number": "0.5", "integer": "7", "seed": "random", "boolean": "yes", "choice": "1"}
    wanted = {"text": "7", "number": 0.5, "integer": 7, "seed": "random", "boolean": True, "choice": 1}
    assert typed_properties(effect, {**given, "image": "a.png"}) == {**wanted, "image": Path("a.png")}
    for name, text in (("number", "x"), ("integer", "0.5"), ("seed", "any"), ("boolean", "perhaps")):
        with pytest.raises(InvalidInput, match=f"--set {name}"):
            typed_properties(effect, {name: text})


SILENT_S_MAX = 30.0


class Terminal:
    """The command in a process of its own, with a terminal for its standard error."""

    def __init__(self, fleet: Fleet, folder: Path, *arguments: str) -> None:
        self._screen, theirs = pty.openpty()
        self.seen = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "comfyfleet", *arguments],
            env={**environment(folder, URL=fleet.url, API_KEY=fleet.key), "TERM": "xterm-256color", "COLUMNS": "160"},
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            # A shell in the background hands on that Ctrl-C is to be ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(theirs)

    def until(self, text: str) -> None:
        ends = time.monotonic() + SILENT_S_MAX
        while text not in self.seen:
            assert self._read(), self.seen
            assert time.monotonic() < ends, self.seen[-2000:]

    def _read(self) -> bool:
        """False: nobody writes any more. What is silent for so long hangs."""
        assert select.select([self._screen], [], [], SILENT_S_MAX)[0], self.seen
        try:
            chunk = os.read(self._screen, 65_536)
        except OSError:  # so a terminal says it
            chunk = b""
        self.seen += chunk.decode(errors="replace")
        return bool(chunk)

    def interrupted(self) -> str:
        self.process.send_signal(signal.SIGINT)
        while self._read():
            pass
        assert self.process.wait(30) == 130
        os.close(self._screen)
        return self.seen

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def test_that_a_job_runs_may_be_told_after_how_far_it_is() -> None:
    bar = Bar(quiet=True)
    [shown] = bar._progress.tasks
    bar.show(Progressed("job", 0.5, "2"))
    bar.show(StatusChanged("job", "processing"))
    assert shown.percentage == 50
    bar.show(StatusChanged("job", "queued"))  # its worker was lost: another begins anew
    assert shown.percentage == 0


@pytest.mark.parametrize("cancels", [False, True])
def test_ctrl_c_stops_watching_and_says_how_to_go_on(
    fleet: Fleet, comfyfleet: Comfyfleet, tmp_path: Path, cancels: bool
) -> None:
    flags = ["--cancel-on-interrupt"] if cancels else []
    terminal = Terminal(fleet, tmp_path, "jobs", "run", fleet.effect, "photo.png", *flags)
    try:
        with Client(fleet.url, fleet.key) as client, fleet.worker(paced=True, jobs=0 if cancels else 1) as worker:
            if cancels:
                terminal.until("number 1")  # in the queue, whether or not a worker of an earlier test counts as there
            else:
                worker.go_on(2)
                terminal.until("50%")
            seen = terminal.interrupted()
            [job] = client.jobs.page(limit=1).rows
            assert "Traceback" not in seen
            if cancels:
                assert "12 tokens came back" in seen
                assert job.status == "cancelled"
            else:
                assert f"comfyfleet jobs watch {job.id}" in seen
                assert f"comfyfleet jobs cancel {job.id}" in seen
                assert not job.is_over
                worker.go_on()
                assert client.wait(job.id, wait_s=60).job.status == "completed"
    finally:
        terminal.end()
