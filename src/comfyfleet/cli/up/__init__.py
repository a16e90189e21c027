"""`comfyfleet up`: everything on one machine, in one process tree, set up on the first start."""

import contextlib
import socket

import typer
import uvloop
from rich.console import Console

from comfyfleet.api.app import build_app
from comfyfleet.api.logs import configure_logs
from comfyfleet.api.server import build_server
from comfyfleet.bootstrap import (
    build_house,
    build_options,
    build_upkeep,
    ensure_operator_key,
    make_private_folder,
    tell_address,
)
from comfyfleet.cli.acting import os_user
from comfyfleet.cli.database import upgrade_databases
from comfyfleet.cli.serve import facts_of, listen, log_listening, panel, said
from comfyfleet.cli.up.engine import EngineChild, engine_is_installed, engine_of
from comfyfleet.house import House
from comfyfleet.kernel.errors import SchemaTrouble
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings, SettingsError, load_settings

NO_ENGINE = "not installed: pip install 'comfyfleet\\[engine]', or --comfyui URL"


def run_embedded(**given: object) -> None:
    settings = load_settings(**said(given))
    if settings.mode != "embedded":
        raise SettingsError(["mode: `comfyfleet up` is for trying out; in production use `comfyfleet serve`"])
    configure_logs(settings.log_format, settings.log_level)
    settings, listener = listen(settings)
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(_run(settings, listener))
    Console(stderr=True).print("[dim]Stopped.[/]")


async def _run(settings: Settings, listener: socket.socket) -> None:
    make_private_folder(settings.home)
    tell_address(settings)
    engine = engine_of(settings)
    if engine is None:
        await _serve(settings, listener, None)
        return
    engine.start()  # it comes up while the databases are made
    try:
        await _serve(settings, listener, engine)
    finally:
        await engine.stop()


async def _serve(settings: Settings, listener: socket.socket, engine: EngineChild | None) -> None:
    house = build_house(settings)
    try:
        operator_key = await _prepare(house, settings)
        comfyui = settings.comfyui or (await engine.url() if engine else None)
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
        leave_first=engine.stop if engine else None,
    )
    _greet(settings, operator_key, comfyui)
    await server.serve(sockets=[listener])


async def _prepare(house: House, settings: Settings) -> Secret:
    for line in await upgrade_databases(house, show=True):
        if line.failed:
            raise SchemaTrouble(line.database, line.detail)
    await house.store.check()
    return await ensure_operator_key(house, settings.home / "operator.key", os_user())


def _greet(settings: Settings, operator_key: Secret, comfyui: str | None) -> None:
    log_listening(settings)
    facts = facts_of(settings)
    if settings.comfyui is not None:
        facts.add_row("[dim]ComfyUI[/]", settings.comfyui)
    elif settings.engine:
        facts.add_row("[dim]engine[/]", comfyui or ("still starting" if engine_is_installed() else NO_ENGINE))
    facts.add_row("[dim]operator key in[/]", str(settings.home / "operator.key"))
    Console().print(panel(facts))
    # Beside the box and past Rich: it must come out in one piece, whatever the width of the terminal.
    typer.echo(f"operator key: {operator_key.reveal()}\n")
