"""The tutorial, as it is written: every command on the page is run, in order, against a real server."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.server import ServerProcess, environment, server_process

PAGE = Path(__file__).parents[2] / "docs" / "tutorials" / "first-job.md"
ADDRESS = "http://localhost:8700"
ACTIVATE = ". .venv/bin/activate\n"


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert blocks[0] == "make up\n"
    assert blocks[1].startswith(ACTIVATE)
    return [blocks[1].removeprefix(ACTIVATE), *blocks[2:]]


def follow(server: ServerProcess) -> str:
    """All blocks in one shell: they hand variables on to each other."""
    stand_in = f'comfyfleet() {{ "{sys.executable}" -m comfyfleet "$@"; }}\n'
    typed = "\n".join(commands()).replace(ADDRESS, server.url)
    done = subprocess.run(
        ["bash", "-c", f"set -eu\n{stand_in}{typed}"],
        env=environment(server.folder, HOME=str(server.home)),
        cwd=server.folder,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.timeout(300)
@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="NO CURL")
def test_who_follows_the_page_gets_what_it_shows(tmp_path: Path) -> None:
    with server_process(tmp_path) as server:
        said = follow(server)
    assert "500 tokens credited; ines@workshop.test has 500." in said
    assert "Workers of workshop/production may run square." in said
    assert '"workflows_assigned":["square"],"status":"approved","incarnation":1' in said
    assert '"cancel_requested":false' in said
    assert said.count('"status":"completed","replayed":false') == 1
    assert said.count('"status":"completed","replayed":true') == 1
    assert '"code":"lease_lost"' in said
    rows = [[cell.strip() for cell in line.split("│")] for line in said.splitlines() if line.count("│") == 5]
    assert [row[1:5] for row in rows][-2:] == [["a job", "spent", "-5", "495"], ["payment", "added", "+500", "500"]]
    assert re.search(r"^A1 .*│ ok", said, re.MULTILINE)
    assert '"worker_id":"by-hand","status":"gone"' in said
