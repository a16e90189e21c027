"""Settings of a worker: where they come from, which wins, and what is said when they make no sense."""

import shlex
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from comfyfleet.cli.errors import exit_code
from comfyfleet.cli.main import app
from comfyfleet.comfy.cloud import CLOUD_URL
from comfyfleet.fleet import Fleet, start_command
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import FleetId, new_id
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import load_settings
from comfyfleet.worker.load_options import WorkerSettingsError, load_worker_settings
from comfyfleet.worker.run import open_connectors

ENOUGH = {"fleet": "video", "stage": "production", "fleet_secret": "cfs_hidden"}


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def problems(**given: Any) -> str:
    with pytest.raises(WorkerSettingsError) as refused:
        load_worker_settings(**{**ENOUGH, **given})
    assert "cfs_hidden" not in refused.value.message
    return refused.value.message


def test_little_is_enough() -> None:
    settings = load_worker_settings(**ENOUGH)
    assert [each.url for each in settings.addresses()] == ["http://127.0.0.1:8188"]
    assert (settings.max_concurrency, settings.lease_ahead, settings.secret().reveal()) == (1, 1, "cfs_hidden")
    assert "cfs_hidden" not in repr(settings)


def test_the_command_line_wins_over_the_environment_and_that_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shared = 'port = 1\n[worker]\nfleet = "file"\nstage = "file"\nworker_id = "file"\nfleet_secret = "x"\n'
    (tmp_path / "comfyfleet.toml").write_text(shared)
    monkeypatch.setenv("COMFYFLEET_STAGE", "environment")
    monkeypatch.setenv("COMFYFLEET_WORKER_ID", "environment")
    settings = load_worker_settings(worker_id="command-line")
    assert (settings.fleet, settings.stage, settings.worker_id) == ("file", "environment", "command-line")
    assert load_settings().port == 1, "a server on this machine reads past the worker's table and variables"


def test_a_file_of_its_own_needs_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "worker.toml"
    own.write_text('fleet = "own"\nstage = "s"\nfleet_secret = "x"\nservers = ["a:1", "b:2"]\n')
    settings = load_worker_settings(own)
    assert (settings.fleet, len(settings.addresses()), settings.max_concurrency) == ("own", 2, 2)
    monkeypatch.setenv("COMFYFLEET_CONFIG", str(tmp_path / "nowhere.toml"))
    assert "there is no such file" in problems()
    own.write_text("fleet = ")
    with pytest.raises(WorkerSettingsError, match=r"worker\.toml"):
        load_worker_settings(own, **ENOUGH)


def test_lists_are_written_with_commas_and_commands_by_the_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMFYFLEET_SERVERS", "127.0.0.1:8188, 127.0.0.1:8189")
    monkeypatch.setenv("COMFYFLEET_COMFYUI_COMMAND", "python main.py --port 8188\npython 'main.py' --port 8189")
    monkeypatch.setenv("COMFYFLEET_WORKFLOWS", "a,b")
    settings = load_worker_settings(fleet_secret="x")
    assert settings.commands()[1] == ["python", "main.py", "--port", "8189"]
    assert settings.workflows == ["a", "b"]


def test_the_cloud_key_has_the_name_that_comfys_own_tools_use(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "comfy_cloud_api_key: is needed" in problems(providers=["cloud"])
    monkeypatch.setenv("COMFY_CLOUD_API_KEY", "unprefixed")
    settings = load_worker_settings(**ENOUGH, providers=["cloud"], concurrency=4)
    assert settings.comfy_cloud_api_key is not None
    assert (settings.comfy_cloud_api_key.get_secret_value(), settings.addresses()) == ("unprefixed", [])
    assert settings.max_concurrency == 4
    monkeypatch.setenv("COMFYFLEET_COMFY_CLOUD_API_KEY", "prefixed")
    both = load_worker_settings(**ENOUGH, providers=["cloud", "self_hosted"]).comfy_cloud_api_key
    assert both is not None
    assert both.get_secret_value() == "prefixed"


async def test_the_clouds_address_is_read_by_the_worker_as_by_comfy_run(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {**ENOUGH, "providers": ["cloud"], "comfy_cloud_api_key": "key"}
    assert load_worker_settings(**given).comfy_cloud_url == CLOUD_URL
    monkeypatch.setenv("COMFY_CLOUD_URL", "https://unprefixed.example")
    [cloud] = open_connectors(load_worker_settings(**given))
    assert "unprefixed.example" in cloud.name
    await cloud.close()
    monkeypatch.setenv("COMFYFLEET_COMFY_CLOUD_URL", "https://prefixed.example")
    assert load_worker_settings(**given).comfy_cloud_url == "https://prefixed.example"
    assert "comfy_cloud_url: " in problems(**{**given, "comfy_cloud_url": "http://far.example"})


def test_the_secret_may_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "secret"
    settings = load_worker_settings(**{**ENOUGH, "fleet_secret": None}, fleet_secret_file=file)
    with pytest.raises(InvalidInput, match="cannot be read"):
        settings.secret()
    file.write_text("\n")
    with pytest.raises(InvalidInput, match="is empty"):
        settings.secret()
    file.write_text("from-a-file\n")
    assert settings.secret().reveal() == "from-a-file"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fleet": None, "stage": None}, "fleet: name a fleet and a stage, or workflows"),
        ({"stage": None}, "stage: goes together with fleet"),
        ({"fleet_secret": None}, "fleet_secret: is needed"),
        ({"fleet_secret_file": Path("x")}, "fleet_secret_file: is set, and fleet_secret too"),
        ({"control_plane_url": "fleet.example.com"}, "control_plane_url: must be an address"),
        ({"control_plane_url": "https://me:pw@fleet"}, "control_plane_url: must not hold a user"),
        ({"servers": ["a:1", "http://a:1/"]}, "servers: a server is named twice"),
        ({"servers": ["ftp://a"]}, "servers: a server's URL is http"),
        ({"worker_id": "a b"}, "worker_id: use 1 to 128"),
        ({"concurrency": 0}, "concurrency: Input should be greater than or equal to 1"),
        ({"providers": ["nimbus"]}, "providers: Input should be 'self_hosted' or 'cloud'"),
        ({"providers": []}, "providers: name self_hosted, cloud, or both"),
        ({"servers": ["a:1", "b:1"], "comfyui_command": ["x"]}, "comfyui_command: needs as many commands"),
        ({"servers": ["a:1"], "comfyui_command": ["x"]}, "comfyui_command: starts servers on this machine"),
        ({"comfyui_command": ["python 'main"]}, "comfyui_command: cannot be read as a shell reads it"),
        ({"gpus": 3}, "gpus: there is no such setting"),
    ],
)
def test_what_makes_no_sense_is_told(given: dict[str, Any], said: str) -> None:
    assert said in problems(**given)


def test_a_typo_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMFYFLEET_SERVRES", "a:1")
    assert "COMFYFLEET_SERVRES: there is no such setting" in problems()
    monkeypatch.delenv("COMFYFLEET_SERVRES")
    monkeypatch.setenv("COMFYFLEET_UPKEEP", "true")
    assert load_worker_settings(also_known=["upkeep"], **ENOUGH).fleet == "video", "a server's setting is no typo"


def test_the_command_line_refuses_what_makes_no_sense_and_tells_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMFYFLEET_FLEET_SECRET", "cfs_hidden")
    flags = ["worker", "--fleet", "video", "--server", "http://me:cfs_hidden@host:1/?x"]
    error = CliRunner().invoke(app, flags).exception
    assert isinstance(error, WorkerSettingsError)
    assert "servers: leave away what follows" in error.message
    assert "cfs_hidden" not in error.message
    assert exit_code(error) == 2


def test_a_shell_that_uses_the_command_line_may_start_a_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMFYFLEET_API_KEY", "cf_hidden")
    monkeypatch.setenv("COMFYFLEET_OPERATOR_KEY", "cf_hidden")
    error = CliRunner().invoke(app, ["worker", "--fleet", "video"]).exception
    assert isinstance(error, WorkerSettingsError)
    assert "KEY" not in error.message
    assert "stage: goes together with fleet" in error.message


def test_the_command_that_operators_are_given_is_one_that_the_worker_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    made = Fleet(FleetId(new_id()), "video", "production", "Video", datetime.now(UTC))
    variable, program, *words = shlex.split(
        start_command(made, control_plane_url="https://fleet.example.com", secret=Secret("cfs_x"))
    )
    assert (program, words.pop(0)) == ("comfyfleet", "worker")
    monkeypatch.setenv(*variable.split("=", 1))
    command = typer.main.get_command(app).commands["worker"]  # type: ignore[attr-defined]
    said = {name: value for name, value in command.make_context("worker", words).params.items() if value}
    settings = load_worker_settings(**said)
    assert (settings.control_plane_url, settings.fleet, settings.stage) == (
        "https://fleet.example.com",
        "video",
        "production",
    )
    assert settings.secret().reveal() == "cfs_x"
