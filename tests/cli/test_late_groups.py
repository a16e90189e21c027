"""Commands are loaded when they are called: what stands beside every ComfyUI must be small, and start fast."""

import subprocess
import sys

import typer

from comfyfleet.cli.groups import GROUPS
from comfyfleet.cli.main import app

HEAVY = ("sqlalchemy", "fastapi", "starlette", "boto3", "numpy", "PIL", "comfyfleet.house")


def test_a_worker_does_not_carry_the_control_plane_about() -> None:
    asks = "import sys, comfyfleet.cli.main, comfyfleet.cli.worker; print(*sys.modules)"
    said = subprocess.run([sys.executable, "-c", asks], capture_output=True, text=True, timeout=120, check=True)
    assert set(HEAVY) & set(said.stdout.split()) == set()


def test_every_group_is_there_when_it_is_called() -> None:
    command = typer.main.get_command(app)
    for name in GROUPS:
        group = command.get_command(None, name)  # type: ignore[attr-defined]
        assert (group.name, bool(group.list_commands(None))) == (name, True)
    assert set(GROUPS) < set(command.list_commands(None))  # type: ignore[attr-defined]
