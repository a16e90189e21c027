"""Writes what is made from the code: golden SQL, the OpenAPI file, the reference pages. `--check` only compares.

Reviewers read real SQL in the diff, and no reference page can be older than the code it describes.
"""

import argparse
import asyncio
import collections.abc
import dataclasses
import difflib
import importlib
import inspect
import json
import re
import sys
import tempfile
import typing
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import Enum
from pathlib import Path
from types import ModuleType, UnionType
from typing import Any
from uuid import UUID

import sqlalchemy as sa
import typer
from pydantic import SecretStr
from pydantic_settings import BaseSettings

from comfyfleet.api.app import build_app
from comfyfleet.api.errors import CONNECTION_WORDS, EDGE_WORDS, OWN_WORDS, status_of
from comfyfleet.api.options import ApiOptions
from comfyfleet.bootstrap import build_house
from comfyfleet.cli.errors import exit_code
from comfyfleet.cli.main import app as cli
from comfyfleet.db.tables import CENTRAL, TENANT
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.lifecycle import Lifecycle
from comfyfleet.settings import PREFIX, Settings
from comfyfleet.worker.options import WorkerSettings
from tools import engine_nodes_page, metrics_page, observe_dashboards, observe_rules, protocol_page

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "comfyfleet"
SQL_FOLDER = "tests/snapshots/sql"
PROTOCOL = "docs/reference/worker-protocol.md"
URLS = {"postgresql": "postgresql+psycopg://", "sqlite": "sqlite+aiosqlite://"}
DIALECTS = {name: sa.make_url(url).get_dialect()() for name, url in URLS.items()}
NOTICE = "<!-- Made by `make snapshots` from the code. Do not edit. -->\n\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    wanted = {ROOT / path: text.rstrip("\n") + "\n" for path, text in everything()}
    owned = {*(ROOT / SQL_FOLDER).rglob("*.sql"), *(ROOT / observe_dashboards.FOLDER).glob("*.json")}
    if parser.parse_args().check:
        sys.exit(report(wanted, owned))
    for path in owned - wanted.keys():
        path.unlink()
    for path, text in wanted.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print(f"{len(wanted)} files written")


def report(wanted: dict[Path, str], owned: set[Path]) -> int:
    stale = [path for path, text in wanted.items() if not path.exists() or path.read_text() != text]
    for path in stale[:5]:
        before = path.read_text().splitlines() if path.exists() else []
        lines = difflib.unified_diff(before, wanted[path].splitlines(), "committed", "from the code", lineterm="")
        print(f"--- {path.relative_to(ROOT)}", *list(lines)[2:20], sep="\n")
    stale += sorted(owned - wanted.keys())
    print(f"{len(wanted)} snapshots, {len(stale)} stale" + ("; run `make snapshots`" if stale else ""))
    return 1 if stale else 0


def everything() -> Iterator[tuple[str, str]]:
    yield from golden_sql()
    yield "tests/snapshots/openapi.json", openapi()
    yield "docs/reference/settings.md", NOTICE + settings_page()
    yield "docs/reference/worker-settings.md", NOTICE + worker_settings_page()
    yield "docs/reference/errors.md", NOTICE + errors_page()
    yield "docs/reference/states.md", NOTICE + states_page()
    yield "docs/reference/schema.md", NOTICE + schema_page()
    yield "docs/reference/cli.md", NOTICE + cli_page()
    yield "docs/reference/http.md", NOTICE + http_page()
    yield "deploy/observe/rules.yaml", observe_rules.page()
    yield from observe_dashboards.pages()
    yield "docs/reference/metrics.md", NOTICE + metrics_reference()
    yield "docs/reference/engine-nodes.md", NOTICE + engine_nodes_page.page()
    yield PROTOCOL, protocol_page.page(ROOT / PROTOCOL)


# ── golden SQL ──────────────────────────────────────────────────────────────────────────────


def golden_sql() -> Iterator[tuple[str, str]]:
    """Every public function of every sql.py, compiled for both engines: none can be left out."""
    for module in sql_modules():
        slice_name = module.__name__.removeprefix("comfyfleet.").removesuffix(".sql")
        for name, function in inspect.getmembers(module, is_statement):
            if function.__module__ != module.__name__ or name.startswith("_"):
                continue
            for variant, statement in statements(function):
                for dialect, compiler in DIALECTS.items():
                    text = readable(str(statement.compile(dialect=compiler)))
                    yield f"{SQL_FOLDER}/{dialect}/{slice_name}.{name}{variant}.sql", text


def is_statement(member: object) -> bool:
    """A function, or one whose answer is kept: those are the statements that run all day."""
    return inspect.isfunction(inspect.unwrap(member) if callable(member) else member)


def readable(text: str) -> str:
    """A line a clause, so that a diff shows the clause that changed."""
    one_line = " ".join(text.split())
    return re.sub(
        r" (?=(FROM|JOIN|LEFT OUTER JOIN|WHERE|AND|SET|VALUES|SELECT|ORDER BY|LIMIT|ON CONFLICT|RETURNING)\b)",
        "\n",
        one_line,
    )


def sql_modules() -> list[ModuleType]:
    paths = sorted(SOURCE.rglob("sql.py"))
    return [importlib.import_module(".".join(path.with_suffix("").relative_to(ROOT / "src").parts)) for path in paths]


def statements(function: Callable[..., Any]) -> Iterator[tuple[str, Any]]:
    """With every optional argument given, and, where that differs, with none of them."""
    hints = typing.get_type_hints(function)
    hints.pop("return", None)
    yield "", function(**{name: sample(hint) for name, hint in hints.items()})
    optional = {name for name, hint in hints.items() if type(None) in typing.get_args(hint)}
    if optional:
        values = {name: None if name in optional else sample(hint) for name, hint in hints.items()}
        yield ".without", function(**values)


SAMPLES: dict[Any, Any] = {
    UUID: UUID(int=1),
    str: "text",
    bytes: b"bytes",
    bool: True,
    frozenset[str]: frozenset({"text"}),
    int: 1,
    float: 1.0,
    datetime: datetime(2026, 1, 1, tzinfo=UTC),
}


def sample(hint: Any) -> Any:
    if isinstance(hint, typing.NewType):
        return sample(hint.__supertype__)
    if isinstance(hint, UnionType) or typing.get_origin(hint) is typing.Union:
        return sample(next(each for each in typing.get_args(hint) if each is not type(None)))
    if typing.get_origin(hint) is list:
        return [sample(typing.get_args(hint)[0])]
    if typing.get_origin(hint) is typing.Literal:
        return typing.get_args(hint)[0]
    if isinstance(hint, type) and issubclass(hint, Enum):
        # The last member: the first is often the state nothing leads to.
        return list(hint)[-1]
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return hint(**{name: sample(inner) for name, inner in typing.get_type_hints(hint).items()})
    if typing.get_origin(hint) in (dict, tuple):
        return typing.get_origin(hint)()
    if typing.get_origin(hint) is collections.abc.Mapping:
        return {}
    return SAMPLES[hint]


# ── reference pages ─────────────────────────────────────────────────────────────────────────


def openapi() -> str:
    async def build() -> dict[str, Any]:
        with tempfile.TemporaryDirectory() as folder:
            house = build_house(Settings(home=Path(folder) / "home"))
            spec = build_app(house, ApiOptions()).openapi()
            await house.close()
            return spec

    return json.dumps(asyncio.run(build()), indent=1, sort_keys=True, ensure_ascii=False)


def metrics_reference() -> str:
    async def build() -> str:
        with tempfile.TemporaryDirectory() as folder:
            house = build_house(Settings(home=Path(folder) / "home"))
            try:
                return metrics_page.page(house)
            finally:
                await house.close()

    return asyncio.run(build())


def settings_page() -> str:
    lines = [
        "# Settings",
        "",
        f"Each is an environment variable with the prefix `{PREFIX}`, or the same name in lower case in",
        f"`comfyfleet.toml` (another file: `{PREFIX}CONFIG`). The environment wins. Lists and objects are JSON in the",
        "environment. A name that is neither on this page nor among the [settings of a worker](worker-settings.md) is",
        "refused at the start.",
        "",
        *settings_table(Settings),
    ]
    return "\n".join(lines)


def worker_settings_page() -> str:
    lines = [
        "# Settings of a worker",
        "",
        "`comfyfleet worker` takes them from its command line (the most used ones), from environment variables with",
        f"the prefix `{PREFIX}`, or from the table `[worker]` of `comfyfleet.toml` (another file: `{PREFIX}CONFIG`); a",
        "file given as `--config` needs no table. The command line wins over the environment, the environment over the",
        "file. In the environment, lists are written with commas, commands by the line. A name that is neither here",
        "nor among the [settings of a server](settings.md) is refused.",
        "",
        *settings_table(WorkerSettings),
    ]
    return "\n".join(lines)


def settings_table(kind: type[BaseSettings]) -> Iterator[str]:
    yield "| setting | default | meaning |"
    yield "|---|---|---|"
    for name, field in kind.model_fields.items():
        default = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
        shown = "–" if default is None else f"`{default}`"
        yield f"| `{PREFIX}{name.upper()}` | {shown} | {field.description} |"


def subclasses(kind: type[FleetError]) -> Iterator[type[FleetError]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


def errors_page() -> str:
    # Some load only where a command needs them: they are errors all the same.
    for path in [*SOURCE.rglob("errors.py"), *(SOURCE / "cli").rglob("*.py"), *(SOURCE / "worker").rglob("*.py")]:
        importlib.import_module(".".join(path.relative_to(SOURCE.parent).with_suffix("").parts))
    lines = [
        "# Errors",
        "",
        'Every answer that is no success has the body `{"error": {"code", "message", "details"}}`. Codes are stable.',
        "The command line prints the message and ends with the exit code.",
        "",
        "| code | HTTP | exit code | what happened |",
        "|---|---|---|---|",
    ]
    rows: dict[str, str] = {}
    for error in subclasses(FleetError):
        instance = error.__new__(error)
        try:
            status = str(status_of(instance))
        except StopIteration:
            status = "–"  # only ever raised on the command line
        rows[error.code] = f"| `{error.code}` | {status} | {exit_code(instance)} | {inspect.getdoc(error)} |"
    for status_code, (code, message) in [
        *OWN_WORDS.items(),
        *EDGE_WORDS.items(),
        *((each[0], each[1:]) for each in CONNECTION_WORDS[2:]),
    ]:
        rows.setdefault(code, f"| `{code}` | {status_code} | – | {message} |")
    return "\n".join([*lines, *(rows[code] for code in sorted(rows))])


def states_page() -> str:
    lines = ["# States", "", "Each diagram is drawn from the table that the code and the SQL guards read."]
    for path in sorted(SOURCE.rglob("lifecycle.py")):
        module = importlib.import_module(".".join(path.with_suffix("").relative_to(ROOT / "src").parts))
        for lifecycle in vars(module).values():
            if isinstance(lifecycle, Lifecycle):
                lines += ["", f"## {lifecycle.noun}", "", "```mermaid", lifecycle.mermaid(), "```"]
    return "\n".join(lines)


def schema_page() -> str:
    lines = ["# Schema", ""]
    for title, metadata in (("Central database", CENTRAL), ("Tenant pool", TENANT)):
        lines += [f"## {title}", ""]
        for table in metadata.sorted_tables:
            lines += [f"### `{table.name}`", "", "| column | type | |", "|---|---|---|"]
            lines += [
                f"| `{column.name}` | {column_type(column)} | {column_notes(column)} |" for column in table.columns
            ]
            lines.append("")
    return "\n".join(lines)


def column_type(column: sa.Column[Any]) -> str:
    return column.type.compile(dialect=DIALECTS["postgresql"]).lower()


def column_notes(column: sa.Column[Any]) -> str:
    notes = ["primary key"] if column.primary_key else []
    notes += [f"→ `{key.target_fullname}`" for key in column.foreign_keys]
    notes += ["unique"] if column.unique else []
    notes += ["may be null"] if column.nullable else []
    return ", ".join(notes)


def http_page() -> str:
    spec = json.loads(openapi())
    lines = ["# HTTP API", "", "The running server shows all of it, with schemas, at `/docs`.", ""]
    lines += ["| | path | |", "|---|---|---|"]
    for path, methods in sorted(spec["paths"].items()):
        for method, operation in methods.items():
            about = operation.get("description") or operation["summary"]
            first = " ".join(about.split("\n\n")[0].split())
            lines.append(f"| `{method.upper()}` | `{path}` | {first} |")
    return "\n".join(lines)


CLI_PREFACE = """\
`comfyfleet <nouns> <verb>`: collections are plural (`workers list`, `tenants create`), and the same verb means the
same everywhere. `up`, `serve`, `engine`, `worker`, `demo`, `simulate` and `audit` run something.

- `-h` or `--help` works behind every word. `--json` prints JSON, errors included.
- Completion for bash, zsh, fish and PowerShell: `comfyfleet --install-completion`, then open a new shell.
  `comfyfleet --show-completion` prints the script instead, to put it where your system keeps such scripts.
- Exit codes: 0 done, 1 failed, 2 refused input, 3 not found, 4 conflict, 5 not allowed, 6 unavailable.
- Spellings of earlier releases (`tenant create`, `workflows add`) still work, with a note on stderr.
"""


def cli_page() -> str:
    lines = ["# Command line", "", CLI_PREFACE]
    for path, command in commands(typer.main.get_command(cli), "comfyfleet"):
        lines += [f"## `{path}`", "", command.help or "", ""]
        options = [parameter for parameter in command.params if parameter.name != "help"]
        if options:
            lines += ["| | |", "|---|---|"]
            lines += [f"| `{spelling(each)}` | {getattr(each, 'help', None) or ''} |" for each in options]
            lines.append("")
    return "\n".join(lines)


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield path, command
        return
    for name in command.list_commands(None):
        yield from commands(command.get_command(None, name), f"{path} {name}")


def spelling(parameter: Any) -> str:
    return ", ".join(parameter.opts) if parameter.param_type_name == "option" else str(parameter.name).upper()


if __name__ == "__main__":
    main()
