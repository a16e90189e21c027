"""The rules of the house hold, and the checks that watch them can fail."""

import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TRACKED = subprocess.run(
    ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
    cwd=ROOT,
    capture_output=True,
    text=True,
    check=True,
).stdout.splitlines()

PLANTS = {
    "The house has floors": ("kernel/planted.py", "import comfyfleet.db"),
    "The house has floors: a new floor": ("utils/__init__.py", ""),
    "The house has floors: neighbours": ("ledger/planted.py", "import comfyfleet.tenants"),
    "Nouns are pure": ("ledger/model.py", "import sqlalchemy"),
    "Only sql.py touches tables": ("ledger/planted.py", "import comfyfleet.db.tables"),
    "Web stays at the edge": ("tenants/planted.py", "import fastapi"),
    "Settings are read once": ("api/planted.py", "import comfyfleet.settings"),
    "The three routers share nothing": ("api/tenant/planted.py", "import comfyfleet.api.operator"),
}


@pytest.mark.parametrize("name", PLANTS)
def test_a_planted_violation_breaks_its_contract(name: str, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    path, line = PLANTS[name]
    planted = tmp_path / "src" / "comfyfleet" / path
    planted.parent.mkdir(exist_ok=True)
    before = planted.read_text() if planted.exists() else ""
    planted.write_text(f"{before}\n{line}\n")
    done = _lint_imports(tmp_path)
    assert done.returncode != 0
    contract = name.split(":")[0]
    broken = [said for said in done.stdout.splitlines() if said.startswith(contract) and said.endswith("BROKEN")]
    assert broken or "Missing layer" in done.stdout or "utils" in done.stdout, done.stdout


def _lint_imports(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-logo", "--no-cache"]
    environment = {"PYTHONPATH": str(folder / "src"), "PATH": "/usr/bin:/bin"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_no_package_registry_and_no_machine_path_in_a_committed_file() -> None:
    # Spelt in pieces, so that this file does not find itself.
    hosts = ["files.python" + "hosted", "pypi" + ".org", "registry." + "npmjs", "deb." + "debian", "index" + "-url"]
    paths = re.compile("(?:^|[\\s\"'=:(])/" + "(?:work|farm|root)/")
    found = []
    for name in TRACKED:
        path = ROOT / name
        if not path.is_file():
            continue
        text = path.read_text(errors="replace")
        found += [f"{name}: {host}" for host in hosts if host in text]
        found += [f"{name}: {match.group()!r}" for match in paths.finditer(text)]
    assert found == []


def test_every_pin_has_a_hash() -> None:
    for name in ("requirements-dev.lock", "requirements-uv.lock"):
        text = (ROOT / name).read_text()
        pins = re.findall(r"^[a-z0-9][\w.\[\]-]*==.*$", text, re.MULTILINE)
        assert len(pins) > 0
        assert all(pin.endswith("\\") for pin in pins), "a pin without a hash"
        assert "--hash=sha256:" in text
        assert "://" not in text


def test_names_that_say_nothing_are_not_used() -> None:
    refused = {"service", "manager", "utils", "util", "helpers", "helper", "common", "misc"}
    parts = {part for name in TRACKED if name.startswith("src/") for part in Path(name).with_suffix("").parts}
    assert parts & refused == set()


def test_the_wheel_holds_what_runs_and_nothing_else(tmp_path: Path) -> None:
    uv = ROOT / ".uv" / "bin" / "uv"
    if not uv.exists():
        pytest.skip("built without `make setup`")
    command = [
        str(uv),
        "build",
        "--wheel",
        "--no-build-isolation",
        "--python",
        sys.executable,
        "--out-dir",
        str(tmp_path),
    ]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    names = set(zipfile.ZipFile(next(tmp_path.glob("*.whl"))).namelist())
    for needed in (
        "comfyfleet/py.typed",
        "comfyfleet/_web/index.html",
        "comfyfleet/db/migrations/central/versions/0001_expand_foundations.py",
        "comfyfleet/db/migrations/tenant/env.py",
    ):
        assert needed in names
    assert not any(name.startswith(("tests", "tools", "docs")) for name in names)


def test_the_version_is_in_the_changelog() -> None:
    from comfyfleet import __version__

    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dynamic"] == ["version"]
    assert f"## {__version__}" in (ROOT / "CHANGELOG.md").read_text()
