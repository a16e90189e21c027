"""`comfyfleet fleets scale`, `show-scaling`, `resume-launches`, as an operator types them."""

import json
import sys
from pathlib import Path

from tests.cli.conftest import Command

PROVIDER = """
import json, sys
asked = json.load(sys.stdin)
print(json.dumps({"machines": [], "ids": [], "errors": []}))
"""


def test_a_fleet_is_set_to_scale_shown_and_turned_off(comfyfleet: Command, tmp_path: Path) -> None:
    comfyfleet("db", "upgrade")
    comfyfleet("fleets", "create", "video/test")
    assert "give --adapter" in comfyfleet("fleets", "scale", "video/test", "--max", "3", code=2)
    script = tmp_path / "provider.py"
    script.write_text(PROVIDER)
    config = json.dumps({"command": f"{sys.executable} {script}", "environment": {"KEY": "provider-secret"}})
    given = ["--max", "3", "--adapter", "command", "--adapter-settings", config]
    said = comfyfleet("fleets", "scale", "video/test", *given, "--class", "gpu,spot=0.4,memory=24", "--budget", "2")
    assert "scales from 0 to 3 workers (command)" in said
    refused = comfyfleet("fleets", "scale", "video/test", "--min", "4", code=2)
    assert "min_workers: is 4, but max_workers is 3" in refused
    refused = comfyfleet("fleets", "scale", "video/test", "--class", "gpu,spot=cheap", code=2)
    assert "spot is 'cheap', which is no number" in refused
    refused = comfyfleet("fleets", "scale", "video/test", "--adapter", "teleport", code=2)
    assert "there is no 'teleport'; choose one of: aws, command, local" in refused
    wrong = '{"region": "frankfurt", "groups": [{"name": "gpus"}]}'
    refused = comfyfleet("fleets", "scale", "video/test", "--adapter", "aws", "--adapter-settings", wrong, code=2)
    assert "'frankfurt' is no name of an AWS region" in refused
    changed = comfyfleet.json("fleets", "scale", "video/test", "--eagerness", "eager")
    assert (changed["eagerness"], changed["max_workers"], changed["budget_per_hour"]) == ("eager", 3, 2)
    shown = comfyfleet("fleets", "show-scaling", "video/test", "--dry-run")
    assert "would do now" in shown
    assert "steady" in shown
    would = comfyfleet.json("fleets", "scaling", "video/test", "--dry-run")
    assert (would["desired_workers"], would["dry_run"], would["settings"]["adapter"]) == (0, True, "command")
    assert "provider-secret" not in json.dumps(would)
    assert "launches machines again" in comfyfleet("fleets", "resume-launches", "video/test")
    assert "scales no longer" in comfyfleet("fleets", "scale", "video/test", "--off")
    assert "There is no scaling of fleet" in comfyfleet("fleets", "show-scaling", "video/test", code=3)
