"""Every setting of a worker, once: `COMFYFLEET_` in the environment, or the same names in a TOML file.

The command line wins over the environment, the environment over the file. A name that is not here is refused, not
ignored. `docs/reference/worker-settings.md` is made from this file.
"""

import re
import shlex
import socket
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import urlsplit

import httpx2
from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from comfyfleet.comfy.address import Address, parse_address
from comfyfleet.comfy.cloud import CLOUD_URL, checked_url
from comfyfleet.kernel.errors import FleetError, InvalidInput
from comfyfleet.kernel.hosts import is_loopback
from comfyfleet.kernel.secret import Secret
from comfyfleet.wire.worker_v1 import Provider

PREFIX = "COMFYFLEET_"
GIB = 1024**3
SECRET_BYTES_MAX = 4096
WORKER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")

Several = Annotated[list[str], NoDecode]


class WorkerSettings(BaseSettings):
    """`workdir` is where everything of this worker lies: its journal, its asset cache, files of jobs under way."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, frozen=True, extra="forbid", env_ignore_empty=True, hide_input_in_errors=True
    )

    control_plane_url: str = Field(
        "http://127.0.0.1:8700", description="Where the control plane is, such as `https://fleet.example.com`."
    )
    fleet_secret: SecretStr | None = Field(
        None, description="Lets workers register: `comfyfleet fleet-secrets create`."
    )
    fleet_secret_file: Path | None = Field(
        None, description="A file that holds the fleet secret instead, as systemd and containers hand secrets over."
    )
    fleet: str | None = Field(None, description="Slug of the fleet to join; goes together with `stage`.")
    stage: str | None = Field(None, description="Stage of that fleet, such as `production`.")
    workflows: Several = Field([], description="Slugs of workflows to run instead of, or besides, a fleet's.")
    worker_id: str | None = Field(
        None,
        description="The worker's name, the same after a restart. Default: the EC2 instance id, or else the host name.",
    )

    providers: Annotated[list[Provider], NoDecode] = Field(
        ["self_hosted"], description="What it runs jobs on: `self_hosted`, `cloud`, or both."
    )
    comfyui_url: SecretStr = Field(
        SecretStr("http://127.0.0.1:8188"), description="The local ComfyUI, where there is one only."
    )
    servers: Annotated[list[SecretStr], NoDecode] = Field(
        [], description="Several local servers, such as one a GPU. Default: the one of `comfyui_url`."
    )
    comfy_cloud_api_key: SecretStr | None = Field(
        None, description="For the provider `cloud`; `COMFY_CLOUD_API_KEY` without the prefix works too."
    )
    comfy_cloud_url: str = Field(
        CLOUD_URL, description="Where that is; `COMFY_CLOUD_URL` without the prefix works too."
    )
    comfyui_command: Annotated[list[str], NoDecode] = Field(
        [],
        description="Starts the local server, keeps it running and stops it with the worker. "
        "With several servers: one command each, in their order.",
    )
    comfyui_dir: Path | None = Field(
        None, description="ComfyUI's folder, where it is on this machine: then our files there are deleted after use."
    )

    concurrency: int = Field(
        1, ge=1, le=1000, description="Jobs at once. At least one for each local server; more helps on a cloud only."
    )
    lease_ahead: int = Field(
        1, ge=0, le=100, description="Jobs fetched beyond those that run. 0: one after the other, for tiny disks."
    )

    home: Path = Field(
        Path(".comfyfleet"), description="Folder for files; each worker has its own in `workers/` there."
    )
    asset_cache_bytes: int = Field(20 * GIB, ge=0, description="The most that cached inputs may take on disk.")
    disk_free_bytes_min: int = Field(2 * GIB, ge=0, description="With less room on the disk, no job is fetched ahead.")
    memory_free_bytes_min: int = Field(
        512 * 1024**2, ge=0, description="With less memory available, no job is fetched ahead."
    )

    inactivity_s: float = Field(30.0, ge=0.1, le=3600, description="Silence of ComfyUI before its state is asked for.")
    health_check_interval_s: float = Field(30.0, ge=0.1, le=3600, description="Between two such questions.")
    health_check_timeout_s: float = Field(5.0, ge=0.1, le=300, description="How long one may take.")
    poll_wait_s: float = Field(20.0, ge=0, le=30, description="How long one poll waits for work.")
    drain_s: float = Field(
        25.0, ge=0, le=86_400, description="After SIGTERM: how long running jobs may go on before they are given back."
    )
    comfyui_start_s: float = Field(600.0, ge=1, description="How long an owned ComfyUI may take until it answers.")
    comfyui_stop_s: float = Field(10.0, ge=0, description="How long it may take to stop before it is killed.")

    cloud_machine: Literal["auto", "ec2", "none"] = Field(
        "auto", description="Whose interruption notices are looked for. `auto` asks once at the start."
    )
    metadata_url: str = Field("http://169.254.169.254", description="The EC2 instance metadata service.")
    scale_in_protection: Literal["auto", "on", "off"] = Field(
        "auto",
        description="Protect the instance from scale-in while a job runs. `auto`: where an Auto Scaling group is.",
    )

    status_host: str = Field("127.0.0.1", description="Address of `/healthz` and `/metrics`; `0.0.0.0` in a container.")
    status_port: int = Field(8701, ge=0, le=65535, description="Their port; 0 takes a free one and logs it.")
    log_format: Literal["auto", "json", "console"] = Field("auto", description="`auto`: console on a terminal.")
    log_level: Literal["debug", "info", "warning", "error"] = Field("info", description="The least level to log.")

    @field_validator("workflows", "providers", "servers", mode="before")
    @classmethod
    def _several(cls, value: Any) -> Any:
        """`a,b` in the environment, a list everywhere else."""
        return [each.strip() for each in value.split(",") if each.strip()] if isinstance(value, str) else value

    @field_validator("comfyui_command", mode="before")
    @classmethod
    def _one_or_several(cls, value: Any) -> Any:
        """A line each: a command has commas of its own."""
        return [each.strip() for each in value.splitlines() if each.strip()] if isinstance(value, str) else value

    @field_validator("comfyui_command")
    @classmethod
    def _are_commands(cls, value: list[str]) -> list[str]:
        for each in value:
            try:
                words = shlex.split(each)
            except ValueError as problem:
                raise ValueError(f"cannot be read as a shell reads it: {problem}") from None
            if not words:
                raise ValueError("a command is empty")
        return value

    @field_validator("control_plane_url", "metadata_url")
    @classmethod
    def _is_a_web_address(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError("must be an address such as https://fleet.example.com")
        if parts.username or parts.password:
            raise ValueError("must not hold a user or a password")
        try:
            httpx2.URL(value)
        except httpx2.InvalidURL as problem:
            raise ValueError(f"is no URL that can be called: {problem}") from None
        return value.rstrip("/")

    @field_validator("comfyui_url")
    @classmethod
    def _is_a_server(cls, value: SecretStr) -> SecretStr:
        _address(value)
        return value

    @field_validator("servers")
    @classmethod
    def _are_servers(cls, value: list[SecretStr]) -> list[SecretStr]:
        urls = [_address(each).url for each in value]
        if len(set(urls)) != len(urls):
            raise ValueError("a server is named twice")
        return value

    @field_validator("worker_id")
    @classmethod
    def _is_a_name(cls, value: str | None) -> str | None:
        if value is not None and not WORKER_ID.fullmatch(value):
            raise ValueError("use 1 to 128 letters, digits and . _ : -")
        return value

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if problems := [*self._whom_it_works_for(), *self._what_it_runs_on()]:
            raise ValueError("\n".join(problems))
        return self

    def _whom_it_works_for(self) -> list[str]:
        problems = []
        if self.fleet is None and not self.workflows:
            problems.append("fleet: name a fleet and a stage, or workflows")
        if (self.fleet is None) != (self.stage is None):
            problems.append("stage: goes together with fleet; set both or neither")
        if self.fleet_secret is None and self.fleet_secret_file is None:
            problems.append("fleet_secret: is needed, or fleet_secret_file (make one: comfyfleet fleet-secrets create)")
        if self.fleet_secret is not None and self.fleet_secret_file is not None:
            problems.append("fleet_secret_file: is set, and fleet_secret too; keep one")
        return problems

    def _what_it_runs_on(self) -> list[str]:
        problems = []
        if not self.providers:
            problems.append("providers: name self_hosted, cloud, or both")
        if "cloud" in self.providers and self.comfy_cloud_api_key is None:
            problems.append("comfy_cloud_api_key: is needed for the provider 'cloud'")
        try:
            checked_url(self.comfy_cloud_url)
        except FleetError as problem:
            problems.append(f"comfy_cloud_url: {problem.message}")
        if "self_hosted" not in self.providers and (self.servers or self.comfyui_command or self.comfyui_dir):
            problems.append("providers: must name self_hosted, for servers, comfyui_command or comfyui_dir are set")
        elif self.comfyui_command and len(self.comfyui_command) != len(self.addresses()):
            problems.append("comfyui_command: needs as many commands as there are servers, in their order")
        if self.comfyui_command and not all(
            is_loopback(urlsplit(each.url).hostname or "") for each in self.addresses()
        ):
            problems.append(
                "comfyui_command: starts servers on this machine; their URLs must be of 127.0.0.1 or localhost"
            )
        return problems

    def addresses(self) -> list[Address]:
        """The local servers; none for a worker on a cloud only."""
        if "self_hosted" not in self.providers:
            return []
        return [_address(each) for each in self.servers or [self.comfyui_url]]

    def commands(self) -> list[list[str]]:
        """Of owned servers, in the order of `addresses()`."""
        return [shlex.split(each) for each in self.comfyui_command]

    @property
    def max_concurrency(self) -> int:
        """What it registers with: a local server runs one job at a time, a cloud as many as it was told."""
        local = len(self.addresses())
        return max(self.concurrency, local) if "cloud" not in self.providers else local + self.concurrency

    def secret(self) -> Secret:
        """Read when it is needed: a file may be replaced while the worker runs."""
        if self.fleet_secret is not None:
            return Secret(self.fleet_secret.get_secret_value())
        if self.fleet_secret_file is None:
            raise InvalidInput("fleet_secret", "is needed, or fleet_secret_file")
        try:
            with self.fleet_secret_file.open(encoding="utf-8") as file:
                text = file.read(SECRET_BYTES_MAX).strip()
        except (OSError, UnicodeDecodeError) as problem:
            raise InvalidInput("fleet_secret_file", f"cannot be read ({type(problem).__name__})") from None
        if not text:
            raise InvalidInput("fleet_secret_file", "is empty")
        return Secret(text)

    def workdir(self, worker_id: str) -> Path:
        return self.home / "workers" / worker_id.replace(":", "_")


def _address(url: SecretStr) -> Address:
    try:
        return parse_address(url.get_secret_value())
    except InvalidInput as problem:
        raise ValueError(problem.facts["problem"]) from None


def name_of_host() -> str:
    """The host's name as a worker's: without what a name may not hold."""
    name = re.sub(r"[^A-Za-z0-9._:-]+", "-", socket.gethostname()).strip("-._:")[:128]
    return name or "worker"
