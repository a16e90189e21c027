"""`comfyfleet up`: everything on one machine, in one process tree, set up on the first start."""

import contextlib
import os
import socket
import stat

import uvloop
from fastapi import FastAPI
from rich.console import Console

from comfyfleet.api.app import build_app
from comfyfleet.api.connections import ConnectionRules
from comfyfleet.api.logs import configure_logs
from comfyfleet.api.server import Server, build_server
from comfyfleet.bootstrap import (
    OPERATOR_KEY_FILE,
    build_house,
    build_options,
    build_upkeep,
    ensure_operator_key,
    make_private_folder,
    open_metrics,
    open_spans,
    protect_process,
    require_media_sandbox,
    tell_address,
    warn_of_open_secrets,
)
from comfyfleet.cli.acting import os_user
from comfyfleet.cli.database import upgrade_databases
from comfyfleet.cli.serve import listen, said
from comfyfleet.cli.up.autoscale import DemoScaling
from comfyfleet.cli.up.doors import open_doors
from comfyfleet.cli.up.engine import INSTALL, engine_is_installed
from comfyfleet.cli.up.first_start import Furnished, furnish, furnish_effects
from comfyfleet.cli.up.greet import forget_links, greet, tell_demo
from comfyfleet.cli.up.neighbours import WORKER_ID, Neighbours
from comfyfleet.cli.up.stocking import Asked, ask_server
from comfyfleet.house import House
from comfyfleet.kernel.errors import SchemaTrouble
from comfyfleet.kernel.secret import Secret
from comfyfleet.settings import Settings, SettingsError, load_settings
from comfyfleet.traces.control_plane import ControlPlaneSpans
from comfyfleet.upkeep.loop import Upkeep

# Nothing for others, in a home that they may look into: files of users are made by the engine and the worker, too.
OTHERS = stat.S_IRWXG | stat.S_IRWXO


def run_embedded(**given: object) -> None:
    settings = load_settings(**said(given))
    if settings.mode != "embedded":
        raise SettingsError(["mode: `comfyfleet up` is for trying out; in production use `comfyfleet serve`"])
    if settings.autoscale and not engine_is_installed():
        raise SettingsError([f"autoscale: starts the built-in engine, which is not installed; install it: {INSTALL}"])
    configure_logs(settings.log_format, settings.log_level)
    os.umask(OTHERS)
    protect_process()
    settings, listener = listen(settings)
    with contextlib.suppress(KeyboardInterrupt), open_spans(settings) as traces:
        uvloop.run(_run(settings, listener, traces))
    Console(stderr=True).print("[dim]Stopped.[/]")


async def _run(settings: Settings, listener: socket.socket, traces: ControlPlaneSpans) -> None:
    make_private_folder(settings.home)
    tell_address(settings)
    neighbours = Neighbours(settings)
    neighbours.start_engine()
    try:
        await _serve(settings, listener, neighbours, traces)
    finally:
        forget_links(settings)
        await neighbours.leave()


async def _serve(
    settings: Settings, listener: socket.socket, neighbours: Neighbours, traces: ControlPlaneSpans
) -> None:
    house = build_house(settings, traces=traces)
    try:
        operator_key = await _prepare(house, settings)
        furnished = await furnish(house, settings.home) if neighbours.are_wanted else None
        comfyui = await neighbours.comfyui()
        asked = await _stock(house, settings, furnished, comfyui)
        upkeep = build_upkeep(house, settings)
        scaling = DemoScaling(house, settings, WORKER_ID)
        if not settings.autoscale:
            await scaling.turn_off()
        elif isinstance(upkeep, Upkeep):
            neighbours.follow_scaling(scaling, upkeep)
            if furnished is not None and comfyui is not None:
                await scaling.turn_on(furnished, comfyui)
        app = build_app(house, build_options(settings), upkeep=upkeep)
        demo = furnished is not None and furnished.demo_key is not None
        metrics = open_metrics(house, settings)
        doors = await open_doors(house, app.state.passes, os_user(), demo=demo)
    except BaseException:
        await house.close()
        raise
    server = _build_server(app, settings, neighbours)
    greet(settings, operator_key, furnished, comfyui, doors)
    tell_demo(settings, furnished, asked)
    if furnished is not None:
        neighbours.move_in(house, furnished, comfyui, asked)
    with metrics:
        await server.serve(sockets=[listener])


async def _stock(house: House, settings: Settings, furnished: Furnished | None, comfyui: str | None) -> Asked:
    """The demo gets the effects that the server can run; one that does not answer is asked again later."""
    if furnished is None or furnished.demo_key is None or comfyui is None:
        return Asked()
    asked = await ask_server(comfyui)
    if asked.choice is not None:
        await furnish_effects(house, settings.home, asked.choice)
    return asked


async def _prepare(house: House, settings: Settings) -> Secret:
    require_media_sandbox(house, settings)
    for line in await upgrade_databases(house, show=True):
        if line.failed:
            raise SchemaTrouble(line.database, line.detail)
    await warn_of_open_secrets(house)
    await house.store.check()
    return await ensure_operator_key(house, settings.home / OPERATOR_KEY_FILE, os_user())


def _build_server(app: FastAPI, settings: Settings, neighbours: Neighbours) -> Server:
    return build_server(
        app,
        host=settings.host,
        port=settings.port,
        grace_s=settings.shutdown_grace_s,
        trusted_proxies=settings.trusted_proxies,
        connections=ConnectionRules(settings.connections_max, settings.connections_per_address_max),
        leave_first=neighbours.leave,
    )
