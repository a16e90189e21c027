"""`comfyfleet engine`: the built-in ComfyUI-compatible server."""

import contextlib
from pathlib import Path

import typer
import uvloop

from comfyfleet.kernel.errors import FleetError, Unavailable
from comfyfleet.kernel.hosts import is_loopback


class EngineExtraMissing(Unavailable):
    """Pictures and films need libraries that are not always installed."""

    code = "engine_extra_missing"
    text = "The engine needs {module!r}. Install it with: pip install 'comfyfleet[engine]'"


class PortTaken(FleetError):
    """Somebody else listens there."""

    code = "port_taken"
    text = "Cannot listen on {host}:{port} ({problem}). Choose another --port or --host, or stop what runs there."


def run_engine(*, host: str, port: int, folder: Path) -> None:
    try:
        from comfyfleet.engine.engine import Engine
        from comfyfleet.engine.server import build_server, listen

        engine = Engine(folder, may_die=True)
    except ModuleNotFoundError as error:
        raise EngineExtraMissing(module=error.name) from None
    try:
        listener = listen(host, port)
    except OSError as error:
        raise PortTaken(host=host, port=port, problem=error.strerror or error) from None
    if not is_loopback(host):
        typer.echo("Warning: like ComfyUI, the engine asks nobody for a password. Keep it off open networks.", err=True)
    typer.echo(f"Engine on http://{host}:{listener.getsockname()[1]}, files in {engine.folders.root}")
    with contextlib.suppress(KeyboardInterrupt):
        uvloop.run(build_server(engine).serve(sockets=[listener]))
    typer.echo("Stopped.", err=True)
