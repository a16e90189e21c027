"""`comfyfleet serve`: one control-plane replica, in production."""

import contextlib
import os
import socket
import sys

import structlog
import uvloop
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

from comfyfleet.api.app import build_app
from comfyfleet.api.connections import ConnectionRules
from comfyfleet.api.logs import configure_logs
from comfyfleet.api.server import build_server
from comfyfleet.bootstrap import (
    address_of,
    build_house,
    build_options,
    build_upkeep,
    open_metrics,
    open_spans,
    protect_process,
    require_current_schema,
    require_durable_databases,
    require_media_sandbox,
    warn_of_open_secrets,
    warn_of_unchecked_instances,
)
from comfyfleet.house import House
from comfyfleet.kernel.errors import FleetError
from comfyfleet.kernel.hosts import is_loopback
from comfyfleet.settings import Settings, load_settings
from comfyfleet.traces.control_plane import ControlPlaneSpans

log = structlog.get_logger()


class PortTaken(FleetError):
    """Somebody else listens there."""

    code = "port_taken"
    text = "Cannot listen on {host}:{port} ({problem}). Choose another --port or --host, or stop what runs there."


def run_replica(**given: object) -> None:
    settings = load_settings(**said(given))
    configure_logs(settings.log_format, settings.log_level)
    protect_process()
    settings, listener = listen(settings)
    with contextlib.suppress(KeyboardInterrupt), open_spans(settings) as traces:
        uvloop.run(_serve(settings, listener, traces))
    Console(stderr=True).print("[dim]Stopped.[/]")


def said(given: dict[str, object]) -> dict[str, object]:
    """What the command line left open is for the environment and the file to say."""
    return {name: value for name, value in given.items() if value is not None}


def listen(settings: Settings) -> tuple[Settings, socket.socket]:
    """Links and cookies need the real port when a free one was taken."""
    host, port = settings.host, settings.port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listener = socket.create_server((host, port), family=family, backlog=2048)
    except OSError as problem:
        raise PortTaken(host=host, port=port, problem=os.strerror(problem.errno or 0)) from None
    return settings.model_copy(update={"port": listener.getsockname()[1]}), listener


async def _serve(settings: Settings, listener: socket.socket, traces: ControlPlaneSpans) -> None:
    house = build_house(settings, traces=traces)
    try:
        await _require_ready(house, settings)
        metrics = open_metrics(house, settings)
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
        connections=ConnectionRules(settings.connections_max, settings.connections_per_address_max),
    )
    log_listening(settings)
    if sys.stdout.isatty():
        Console().print(panel(facts_of(settings)))
    with metrics:
        await server.serve(sockets=[listener])


async def _require_ready(house: House, settings: Settings) -> None:
    require_media_sandbox(house, settings)
    await require_current_schema(house)
    if settings.mode == "production":
        await require_durable_databases(house)
    await warn_of_open_secrets(house)
    warn_of_unchecked_instances(settings)
    await house.store.check()


def log_listening(settings: Settings) -> None:
    """A supervisor reads the log; the panel is for a person at a terminal."""
    log.info("server.listening", address=address_of(settings), public_url=shown_address(settings))


def shown_address(settings: Settings) -> str:
    return settings.public_url or address_of(settings)


def facts_of(settings: Settings) -> Table:
    shown = shown_address(settings)
    facts = Table.grid(padding=(0, 2))
    facts.add_row("[dim]open[/]", f"[bold]{shown}[/]")
    facts.add_row("[dim]API reference[/]", f"{shown}/docs")
    if not is_loopback(settings.host) and not shown.startswith("https://"):
        facts.add_row("[yellow]warning[/]", "reachable from the network without HTTPS: logins can be read on the way")
    return facts


def panel(facts: Table) -> Panel:
    return Panel(facts, title="comfyfleet is up", title_align="left", subtitle="Ctrl-C stops it", expand=False)
