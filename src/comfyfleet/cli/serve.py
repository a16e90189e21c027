"""`comfyfleet up` and `comfyfleet serve`: the control plane, embedded or in production."""

import contextlib
import os
import socket
import sys

import structlog
import typer
import uvloop
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from comfyfleet.api.app import build_app
from comfyfleet.api.logs import configure_logs
from comfyfleet.api.server import build_server
from comfyfleet.bootstrap import (
    address_of,
    build_house,
    build_options,
    build_upkeep,
    ensure_operator_key,
    make_private_folder,
    require_current_schema,
    require_durable_databases,
    tell_address,
)
from comfyfleet.cli.acting import os_user
from comfyfleet.cli.database import upgrade_databases
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError, SchemaTrouble
from comfyfleet.kernel.hosts import is_loopback
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings, SettingsError, load_settings

log = structlog.get_logger()


class PortTaken(FleetError):
    """Somebody else listens there."""

    code = "port_taken"
    text = "Cannot listen on {host}:{port} ({problem}). Choose another --port or --host, or stop what runs there."


def run_embedded(**given: object) -> None:
    settings = load_settings(**_said(given))
    if settings.mode != "embedded":
        raise SettingsError(["mode: `comfyfleet up` is for trying out; in production use `comfyfleet serve`"])
    _run(settings, embedded=True)


def run_replica(**given: object) -> None:
    _run(load_settings(**_said(given)), embedded=False)


def _said(given: dict[str, object]) -> dict[str, object]:
    return {name: value for name, value in given.items() if value is not None}


def _run(settings: Settings, *, embedded: bool) -> None:
    configure_logs(settings.log_format, settings.log_level)
    listener = _listen(settings.host, settings.port)
    # Links and cookies need the real port when a free one was taken.
    settings = settings.model_copy(update={"port": listener.getsockname()[1]})
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_serve(settings, listener, embedded=embedded))
    Console(stderr=True).print("[dim]Stopped.[/]")


async def _serve(settings: Settings, listener: socket.socket, *, embedded: bool) -> None:
    if embedded:
        make_private_folder(settings.home)
        tell_address(settings)
    house = build_house(settings)
    try:
        operator_key = await _prepare(house, settings, embedded=embedded)
    except BaseException:
        await house.close()
        raise
    app = build_app(house, build_options(settings), upkeep=build_upkeep(house, settings))
    server = build_server(
        app,
        host=settings.host,
        port=settings.port,
        grace_s=settings.shutdown_grace_s,
        trusted_proxies=settings.trusted_proxies,
    )
    _greet(settings, operator_key)
    await server.serve(sockets=[listener])


async def _prepare(house: House, settings: Settings, *, embedded: bool) -> Secret | None:
    if not embedded:
        await require_current_schema(house)
        if settings.mode == "production":
            await require_durable_databases(house)
        await house.store.check()
        return None
    for line in await upgrade_databases(house, show=True):
        if line.failed:
            raise SchemaTrouble(line.database, line.detail)
    await house.store.check()
    return await ensure_operator_key(house, settings.home / "operator.key", os_user())


def _listen(host: str, port: int) -> socket.socket:
    try:
        return socket.create_server(
            (host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET, backlog=2048
        )
    except OSError as problem:
        raise PortTaken(host=host, port=port, problem=os.strerror(problem.errno or 0)) from None


def _greet(settings: Settings, operator_key: Secret | None) -> None:
    """For a person at a terminal; a supervisor reads the log, which says where it listens too."""
    shown = settings.public_url or address_of(settings)
    log.info("server.listening", address=address_of(settings), public_url=shown)
    if operator_key is None and not sys.stdout.isatty():
        return
    facts = Table.grid(padding=(0, 2))
    facts.add_row("[dim]open[/]", f"[bold]{shown}[/]")
    facts.add_row("[dim]API reference[/]", f"{shown}/docs")
    if operator_key is not None:
        facts.add_row("[dim]operator key in[/]", str(settings.home / "operator.key"))
    if not is_loopback(settings.host) and not shown.startswith("https://"):
        facts.add_row("[yellow]warning[/]", "reachable from the network without HTTPS: logins can be read on the way")
    panel = Panel(facts, title="comfyfleet is up", title_align="left", subtitle="Ctrl-C stops it", expand=False)
    Console().print(panel)
    if operator_key is not None:
        # Beside the box and past Rich: it must come out in one piece, whatever the width of the terminal.
        typer.echo(f"operator key: {operator_key.reveal()}\n")
