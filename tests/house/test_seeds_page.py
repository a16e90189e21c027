"""The page of claims names only what exists: settings, routes, tests, pages."""

import re
from pathlib import Path

import pytest

from comfyfleet.settings import Settings
from comfyfleet.worker.options import WorkerSettings

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/reference/seeds.md"
TEXT = PAGE.read_text()
SETTINGS = {f"COMFYFLEET_{name}".upper() for name in (*Settings.model_fields, *WorkerSettings.model_fields)}


def found(pattern: str) -> list[str]:
    return sorted(set(re.findall(pattern, TEXT)))


@pytest.mark.parametrize("name", found(r"COMFYFLEET_[A-Z_]+"))
def test_a_setting_that_it_names_exists(name: str) -> None:
    assert name in SETTINGS


@pytest.mark.parametrize("route", found(r"`((?:GET|POST) /api/[^`]+)`"))
def test_a_route_that_it_names_exists(route: str) -> None:
    method, _, path = route.partition(" ")
    assert f"| `{method}` | `{path}` |" in (ROOT / "docs/reference/http.md").read_text()


@pytest.mark.parametrize("named", found(r"`(tests/[^`]+)`"))
def test_a_test_that_it_names_exists(named: str) -> None:
    path, _, name = named.partition("::")
    assert not name or re.search(rf"def {name}\(", (ROOT / path).read_text())
    assert (ROOT / path).is_file()


@pytest.mark.parametrize("link", found(r"\]\(([^)#]+)"))
def test_a_page_that_it_links_to_exists(link: str) -> None:
    assert (PAGE.parent / link).is_file()
