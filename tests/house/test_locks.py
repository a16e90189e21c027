"""What production installs: every dependency, pinned by hash, in the versions that were tested."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
RUNTIME, DEVELOPMENT = ROOT / "requirements.lock", ROOT / "requirements-dev.lock"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
DEV_TOOLS = {canonicalize_name(Requirement(each).name) for each in PROJECT["dependency-groups"]["dev"]}


def pins(path: Path) -> list[Requirement]:
    """A package may be there twice, for different Pythons."""
    return [
        Requirement(found.strip()) for found in re.findall(r"^([a-z0-9][^\\\n]+) \\$", path.read_text(), re.MULTILINE)
    ]


def needed() -> list[Requirement]:
    extras = PROJECT["project"]["optional-dependencies"]
    return [
        Requirement(each) for each in [*PROJECT["project"]["dependencies"], *(x for e in extras.values() for x in e)]
    ]


@pytest.mark.parametrize("wanted", needed(), ids=str)
def test_each_dependency_of_the_project_is_pinned_as_it_asks(wanted: Requirement) -> None:
    found = [each for each in pins(RUNTIME) if canonicalize_name(each.name) == canonicalize_name(wanted.name)]
    assert found, f"run `make lock`: {wanted.name} is not in requirements.lock"
    for each in found:
        (pin,) = each.specifier
        assert wanted.specifier.contains(pin.version), f"run `make lock`: {each} does not satisfy {wanted}"


def test_production_runs_the_versions_that_were_tested() -> None:
    tested = {(canonicalize_name(each.name), str(each.specifier)) for each in pins(DEVELOPMENT)}
    assert {(canonicalize_name(each.name), str(each.specifier)) for each in pins(RUNTIME)} <= tested


def test_production_installs_no_tool_of_development() -> None:
    ours = {canonicalize_name(each.name) for each in needed()}
    names = {canonicalize_name(each.name) for each in pins(RUNTIME)}
    assert not names & (DEV_TOOLS - ours)
    assert len(names) > 40


@pytest.mark.parametrize("path", [RUNTIME, DEVELOPMENT], ids=lambda path: path.name)
def test_each_pin_has_hashes_and_no_place_is_named(path: Path) -> None:
    text = path.read_text()
    assert not re.search(r"https?://|--\S*index\S*|--find-links|@ (file|git)", text)
    for block in re.split(r"\n(?=[a-z0-9])", re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)):
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", block), block[:80]


def test_what_was_replaced_by_a_few_lines_is_gone() -> None:
    gone = {"puremagic", "fastapi-offline", "limits"}
    for path in (RUNTIME, DEVELOPMENT):
        assert not gone & {canonicalize_name(each.name) for each in pins(path)}
    asked = subprocess.run(
        [sys.executable, "-c", "import comfyfleet.api.app, sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not gone & {each.replace("_", "-") for each in asked.stdout.split()}
