"""The command in this process, against engines in processes of their own: starting Python is what takes the time."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog
from typer.testing import CliRunner

from comfyfleet.cli.errors import exit_code
from comfyfleet.cli.main import app
from comfyfleet.kernel.errors import FleetError
from tests.cli.comfy_servers.calling import Comfy, Done, Server
from tests.engines import an_engine_process


@pytest.fixture(scope="package")
def running_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with an_engine_process(tmp_path_factory.mktemp("engine")) as process:
        yield Server(process.url)


@pytest.fixture
def engine(running_engine: Server) -> Server:
    running_engine.order()
    return running_engine


@pytest.fixture
def comfy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Comfy]:
    """`comfyfleet comfy …` in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.delenv("COMFY_CLOUD_API_KEY", raising=False)
    root = logging.getLogger()
    handlers, level = root.handlers, root.level

    def call(*arguments: str) -> Done:
        result = CliRunner().invoke(app, ["comfy", *arguments])
        error = result.exception
        if isinstance(error, FleetError):
            return Done(exit_code(error), result.stdout, f"{error.code}: {error.message}")
        assert error is None or isinstance(error, SystemExit), repr(error)
        return Done(result.exit_code, result.stdout, result.stderr)

    yield call
    root.handlers, _ = handlers, root.setLevel(level)
    structlog.reset_defaults()
