"""Where a worker's settings come from: the command line, the environment, a file; and what is wrong with them."""

import os
import tomllib
from collections.abc import Collection
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from comfyfleet.kernel.errors import Refused
from comfyfleet.worker.options import PREFIX, WorkerSettings

CONFIG_FILE = "comfyfleet.toml"
CONFIG_VARIABLE = f"{PREFIX}CONFIG"
# Named as Comfy's own tools name them.
UNPREFIXED = ("COMFY_CLOUD_API_KEY", "COMFY_CLOUD_URL")
TABLE = "worker"
FILE_BYTES_MAX = 1024**2
NO_SUCH = "there is no such setting (see docs/reference/worker-settings.md)"


class WorkerSettingsError(Refused):
    """The settings do not make sense. Nothing was started."""

    code = "invalid_settings"
    text = "{problems}"

    def __init__(self, problems: list[str]) -> None:
        super().__init__(problems="\n".join(problems))


def load_worker_settings(
    config: Path | None = None, *, also_known: Collection[str] = (), **given: Any
) -> WorkerSettings:
    """`given` is the command line. `also_known`: settings of a server, which may stand in the same environment."""
    present = {name.upper() for name in os.environ if name.upper().startswith(PREFIX)}
    known = {_variable(name) for name in (*WorkerSettings.model_fields, *also_known)} | {CONFIG_VARIABLE}
    if unknown := sorted(present - known):
        raise WorkerSettingsError([f"{name}: {NO_SUCH}" for name in unknown])
    from_file = {name: value for name, value in _from_file(config).items() if _variable(name) not in present}
    for name in UNPREFIXED:
        if (found := os.environ.get(name)) and _variable(name) not in present:
            from_file.setdefault(name.lower(), found)
    try:
        return WorkerSettings(**{**from_file, **given})
    except ValidationError as error:
        raise WorkerSettingsError(_explain(error)) from None


def _variable(name: str) -> str:
    return f"{PREFIX}{name}".upper()


def _from_file(config: Path | None) -> dict[str, Any]:
    """A file of the worker's own, with or without the table; in one that a server shares, the table `[worker]`."""
    named = config or (Path(os.environ[CONFIG_VARIABLE]) if os.environ.get(CONFIG_VARIABLE) else None)
    path = named or Path(CONFIG_FILE)
    if not path.exists():
        if named:
            raise WorkerSettingsError([f"{path}: there is no such file"])
        return {}
    found = _read(path)
    if TABLE not in found:
        return found if config is not None else {}
    table = found[TABLE]
    if not isinstance(table, dict):
        raise WorkerSettingsError([f"{path}: write [worker] as a table"])
    return table


def _read(path: Path) -> dict[str, Any]:
    try:
        with path.open("rb") as file:
            return tomllib.loads(file.read(FILE_BYTES_MAX).decode())
    except OSError as problem:
        raise WorkerSettingsError([f"{path}: {problem.strerror}"]) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise WorkerSettingsError([f"{path}: {problem}"]) from None


def _explain(error: ValidationError) -> list[str]:
    lines = []
    for problem in error.errors(include_url=False, include_input=False, include_context=False):
        field = str(problem["loc"][0]) if problem["loc"] else ""
        text = NO_SUCH if problem["type"] == "extra_forbidden" else problem["msg"].removeprefix("Value error, ")
        lines.append(f"{field}: {text}" if field else text)
    return lines
