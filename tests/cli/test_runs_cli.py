"""`comfyfleet pipelines`, `runs` and `demo pipeline` against `comfyfleet up`: from YAML to winners in a folder."""

import io
import json
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops

from comfyfleet.cli.main import run
from tests.server import ServerProcess, server_process

EXAMPLE = Path(__file__).parents[2] / "examples" / "pipeline.yaml"
START = ("runs", "start", "painted-postcard", "--set", "scene=a lake", "--set", "mood=autumn")
NOBODY = "01a1e3c9-38a6-74cf-9496-2a51d73bc545"


@dataclass(frozen=True)
class Said:
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Comfyfleet = Callable[..., Said]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with server_process(tmp_path_factory.mktemp("up"), "--engine") as found:
        found.wait_for_worker()
        yield found


@pytest.fixture
def comfyfleet(
    server: ServerProcess, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Comfyfleet:
    """The command in this process: so many starts of an interpreter would take longer than the pictures."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COMFYFLEET_HOME", str(server.home))
    monkeypatch.setenv("COMFYFLEET_URL", server.url)
    monkeypatch.setenv("COMFYFLEET_API_KEY", (server.home / "demo.key").read_text().strip())

    def command(*arguments: str, code: int = 0, stdin: str = "") -> Said:
        monkeypatch.setattr(sys, "argv", ["comfyfleet", *arguments])
        monkeypatch.setattr(sys, "stdin", io.StringIO(stdin))
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            run()
        said = Said(*capsys.readouterr())
        assert (ended.value.code or 0) == code, said
        return said

    return command


def test_the_demo_goes_from_nothing_to_ranked_finals_and_a_contact_sheet(
    comfyfleet: Comfyfleet, tmp_path: Path
) -> None:
    done = comfyfleet("demo", "pipeline", "-n", "2", "-k", "1", "--out", "night", "--json").json
    assert (done["run"]["status"], done["missing"]) == ("completed", {})
    [final] = done["files"]
    assert final.startswith("night/demo/glow/")
    with Image.open(tmp_path / final) as picture:
        assert min(picture.size) >= 512
    with Image.open(tmp_path / "night" / "contact-sheet.jpg") as sheet:
        assert sheet.width > 1000
    record = json.loads((tmp_path / "night" / "run.json").read_text())
    [winner] = record["winners"]
    assert set(winner["scores"]) >= {"sharpness", "exposure"}
    sketch = record["candidates"][winner["parents"][-1]]
    assert (sketch["step"], sketch["graph"] is not None, sketch["seed"] is not None) == ("Sketch", True, True)


def test_a_pipeline_is_applied_from_a_file_or_refused_with_the_line(comfyfleet: Comfyfleet, tmp_path: Path) -> None:
    text = EXAMPLE.read_text()
    assert "is already version 1" in comfyfleet("pipelines", "apply", str(EXAMPLE)).out
    for old, new, words in (
        ("effect: glow", "effect: nothing", "line 28: steps.2.effect: there is no effect 'nothing'"),
        ("parent: Painted over", "parent: Glow", "line 30: steps.2.needs.parent: the needs go round in a circle"),
        ("effect: repaint", "effect: paint", "line 22: steps.1.needs.parent: the effect 'paint' takes no picture"),
        ("haze: 12", "haze: 1200", "line 33: steps.2.properties.haze: must be from 1 to 31"),
    ):
        (tmp_path / "bad.yaml").write_text(text.replace(old, new))
        assert words in comfyfleet("pipelines", "apply", "bad.yaml", code=2).err
    assert "is a pipeline" in comfyfleet("pipelines", "apply", "--check", str(EXAMPLE)).out
    assert "cannot be read" in comfyfleet("pipelines", "apply", "none.yaml", code=2).err
    assert [each["version"] for each in comfyfleet("pipelines", "list", "--json").json] == [1]
    assert "Sketch" in comfyfleet("pipelines", "show", "painted-postcard").out


def test_a_run_is_watched_voted_on_approved_kept_and_made_again(comfyfleet: Comfyfleet, tmp_path: Path) -> None:
    run_id = comfyfleet(*START, "-n", "2", "-k", "1", "--concurrency", "2", "--json").json["id"]
    assert f"runs approve {run_id} 1" in comfyfleet("runs", "watch", run_id).out
    assert run_id in comfyfleet("runs", "list", "--status", "waiting_for_approval").out
    said = comfyfleet("runs", "vote", run_id, "1", stdin="a\ns\n").out
    assert "Elo 1016, 1 vote " in said
    assert "no others to compare" in said
    assert re.search(rf"^   http://127\.0\.0\.1:\d+/runs/{run_id}/vote\?step=1$", said, re.MULTILINE)
    pictures = re.findall(r"^   (http://127\.0\.0\.1:\d+/api/files/\S+)$", said, re.MULTILINE)
    assert len(pictures) == 4
    assert max(len(each) for each in pictures) < 100
    shown = comfyfleet("runs", "show", run_id, "--json").json
    worst, best = sorted(shown["candidates"], key=lambda each: float(each["elo"]))
    assert "must be from 1 to 3" in comfyfleet("runs", "approve", run_id, "9", code=2).err
    assert "no candidates" in comfyfleet("runs", "approve", run_id, "2", code=2).err
    assert "The best of step 1 goes on." in comfyfleet("runs", "approve", run_id, "1").out
    assert "Rejected: 1 in all." in comfyfleet("runs", "reject", worst["id"]).out
    assert "rejected before" in comfyfleet("runs", "reject", worst["id"]).out
    wrong = comfyfleet("runs", "vote", run_id, "1", "--winner", best["id"], "--loser", worst["id"], code=2).err
    assert "was rejected" in wrong
    comfyfleet("runs", "watch", run_id)
    comfyfleet("runs", "approve", run_id, "2")
    assert "Completed" in comfyfleet("runs", "watch", run_id).out
    assert comfyfleet("runs", "list-jobs", run_id).out.count(" done ") == 2 + 2 + 1
    assert "none" in comfyfleet("runs", "list-jobs", run_id, "--state", "failed").out
    assert "No job of this run has failed." in comfyfleet("runs", "retry", run_id).out
    done = comfyfleet("runs", "export", run_id, "out", "--json").json
    [final] = done["files"]
    candidate = Path(final).name.partition("_")[0]
    job = comfyfleet("runs", "replay", candidate, "--json").json["id"]
    again = comfyfleet("jobs", "watch", job, "--out", "again").out.split("\t")[0]
    with Image.open(tmp_path / final) as first, Image.open(tmp_path / again) as second:
        assert ImageChops.difference(first.convert("RGB"), second.convert("RGB")).getbbox() is None
    assert "cannot be moved by 'stop'" in comfyfleet("runs", "stop", run_id, code=4).err


def test_a_run_is_paused_paid_for_and_stopped_and_bad_input_starts_none(comfyfleet: Comfyfleet) -> None:
    before = len(comfyfleet("runs", "list", "--json").json)
    for given, words in (
        (("--folder", "../up"), "target_folder: must not contain '..'"),
        (("--tokens-max", "-1"), "tokens_max: Input should be greater than or equal to 0\n"),
        (("--approve", "taste"), "'taste' is none of person, all, votes:N"),
        (("--set", "more=1"), "variables.more: is not used by this pipeline"),
        (("--variants", "0", "--top", "0"), "variants: Input should be greater than or equal to 1; top:"),
    ):
        assert words in comfyfleet(*START, *given, code=2).err
    assert "is needed by this pipeline" in comfyfleet("runs", "start", "painted-postcard", code=2).err
    assert "no pipeline 'nobody'" in comfyfleet("runs", "start", "nobody", code=3).err
    assert len(comfyfleet("runs", "list", "--json").json) == before
    run_id = comfyfleet(*START, "--jobs-max", "1", "--json").json["id"]
    assert "It is paused (budget_jobs)" in comfyfleet("runs", "watch", run_id).out
    assert "at least" in comfyfleet("runs", "set-budget", run_id, "--tokens-max", "1", code=2).err
    assert "The run is running." in comfyfleet("runs", "set-budget", run_id, "--jobs-max", "3").out
    assert "Paused." in comfyfleet("runs", "pause", run_id).out
    assert "The run is running." in comfyfleet("runs", "resume", run_id).out
    assert "Stopped." in comfyfleet("runs", "stop", run_id).out
    assert "cannot be moved by 'resume'" in comfyfleet("runs", "resume", run_id, code=4).err
    assert "no candidate" in comfyfleet("runs", "replay", NOBODY, code=3).err
    assert "no id" in comfyfleet("runs", "watch", "77", code=2).err
