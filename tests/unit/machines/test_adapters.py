"""Adapters: settings that make no sense, an operator's program that behaves, and one that does not."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.machines import AdapterProblem, build_adapter, list_machines
from comfyfleet.machines.adapters import check_adapter
from comfyfleet.scaling import (
    CloudState,
    LaunchProblem,
    LaunchRequest,
    MachineClass,
    Machines,
    Market,
    Offer,
    ScalingSettings,
    check_settings,
)

GPU = MachineClass("gpu", offers=(Offer(Market.ON_DEMAND, 2.0),))
SETTINGS = ScalingSettings(classes=(GPU,), max_workers=3)
CONFIG = {"command": "true"}
REQUEST = LaunchRequest("gpu", Market.SPOT, "a", 2)
# A provider in twenty lines: what it launched is in a file.
PROGRAM = """
import json, os, pathlib, sys, time
asked = json.load(sys.stdin)
kept = pathlib.Path(os.environ["KEPT"])
known = json.loads(kept.read_text()) if kept.exists() else {}
if asked["action"] == "launch":
    known.setdefault(asked["token"], [f"{asked['token']}-{n}" for n in range(asked["number"])])
    answer = {"ids": known[asked["token"]]}
elif asked["action"] == "terminate":
    known = {t: [i for i in ids if i not in asked["ids"]] for t, ids in known.items()}
    answer = {}
else:
    answer = {"machines": [{"id": i, "state": "running", "class": "gpu", "market": "spot", "zone": "a",
                            "launched_at_s": 1.5} for ids in known.values() for i in ids]}
kept.write_text(json.dumps(known))
print(json.dumps(answer))
"""


@pytest.mark.parametrize(
    ("settings", "adapter", "config", "field"),
    [
        (ScalingSettings(classes=(GPU,), min_workers=4, max_workers=3), "command", CONFIG, "min_workers"),
        (
            ScalingSettings(classes=(MachineClass("a"),), budget_per_hour=5),
            "command",
            CONFIG,
            "classes.a.on_demand.price",
        ),
        (SETTINGS, "teleport", {}, "adapter"),
        (SETTINGS, "command", {}, "adapter_settings"),
        (SETTINGS, "command", {"command": "'"}, "adapter_settings.command"),
        (SETTINGS, "command", {"command": "x", "timeout_s": 0}, "adapter_settings.timeout_s"),
        (SETTINGS, "command", {"command": "x", "colour": "red"}, "adapter_settings"),
        (
            SETTINGS,
            "local",
            {"control_plane_url": "x", "fleet_secret_file": "a", "folder": "/b"},
            "adapter_settings.fleet_secret_file",
        ),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    settings: ScalingSettings, adapter: str, config: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        check_adapter(adapter, config if check_settings(settings) else {})
    assert refused.value.field == field


def _adapter(tmp_path: Path, program: str, **given: Any) -> Machines:
    script = tmp_path / "provider.py"
    script.write_text(program)
    command = f"{sys.executable} {script}"
    return build_adapter(
        "video/test", "command", {"command": command, "environment": {"KEPT": str(tmp_path / "kept.json")}, **given}
    )


async def test_an_operators_program_launches_once_by_token_describes_and_ends(tmp_path: Path) -> None:
    adapter = _adapter(tmp_path, PROGRAM)
    first, again = await adapter.launch(REQUEST, "t1"), await adapter.launch(REQUEST, "t1")
    assert first == again
    assert first.ids == ("t1-0", "t1-1")
    listed = await list_machines(adapter, "command")
    assert [(each.id, each.state, each.place) for each in listed] == [
        (name, CloudState.RUNNING, REQUEST.place) for name in first.ids
    ]
    await adapter.terminate(["t1-0"])
    assert [each.id for each in await adapter.describe()] == ["t1-1"]


@pytest.mark.parametrize(
    ("program", "word"),
    [
        ("print('hello')", "no JSON of its kind"),
        ("print('{}')", "missing required field `machines`"),
        ("import sys; print('bad key', file=sys.stderr); sys.exit(3)", "exit code 3: bad key"),
        ("import time; time.sleep(60)", "gave no answer to describe within 1 s"),
        ('print(\'{"machines": [{"id": "a", "state": "happy"}]}\')', "Invalid enum value 'happy'"),
        (
            'print(\'{"machines": [{"id": "a", "state": "running"}, {"id": "a", "state": "running"}]}\')',
            "names machine 'a' twice",
        ),
    ],
)
async def test_a_program_that_fails_says_what_failed(tmp_path: Path, program: str, word: str) -> None:
    adapter = _adapter(tmp_path, program, timeout_s=1.0)
    with pytest.raises(AdapterProblem) as failed:
        await list_machines(adapter, "command")
    assert word in failed.value.message


async def test_a_program_that_is_not_there_says_so() -> None:
    adapter = build_adapter("video/test", "command", {"command": "/no/such/program"})
    with pytest.raises(AdapterProblem, match="cannot be started: No such file"):
        await adapter.describe()


async def test_a_program_sees_no_secret_of_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMFYFLEET_SIGNING_KEY", "very-secret")
    adapter = _adapter(tmp_path, "import os, sys; print(sorted(os.environ), file=sys.stderr); sys.exit(1)")
    with pytest.raises(AdapterProblem) as failed:
        await adapter.describe()
    assert "COMFYFLEET" not in failed.value.message
    assert "KEPT" in failed.value.message


async def test_what_a_late_program_started_ends_with_it(tmp_path: Path) -> None:
    child = f"""
import subprocess, time
process = subprocess.Popen(["sleep", "60"])
open({str(tmp_path / "pid")!r}, "w").write(str(process.pid))
time.sleep(60)
"""
    adapter = _adapter(tmp_path, child, timeout_s=1.5)
    with pytest.raises(AdapterProblem):
        await adapter.describe()
    pid = int((tmp_path / "pid").read_text())
    for _ in range(100):
        if not _runs(pid):
            return
        await asyncio.sleep(0.02)
    pytest.fail("it still runs")


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def test_a_capacity_error_of_a_program_is_told_as_one(tmp_path: Path) -> None:
    said = '{"ids": [], "errors": [{"problem": "capacity", "text": "none left", "number": 2}]}'
    answer = await _adapter(tmp_path, f"print({said!r})").launch(REQUEST, "t")
    assert (answer.ids, answer.errors[0].problem, answer.errors[0].number) == ((), LaunchProblem.CAPACITY, 2)
