"""`comfyfleet …`"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from comfyfleet import __version__
from comfyfleet.cli.errors import exit_code, print_error
from comfyfleet.cli.groups import AllGroups
from comfyfleet.cli.output import AsJson
from comfyfleet.kernel.errors import FleetError

app = typer.Typer(
    cls=AllGroups,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    help="Run ComfyUI as a fleet. Start with: comfyfleet up",
)


Host = Annotated[str | None, typer.Option(help="Address to listen on.")]
Port = Annotated[int | None, typer.Option(help="Port to listen on; 0 takes a free one.")]
Home = Annotated[Path | None, typer.Option(help="Folder for all files.")]


@app.command("up")
def up(
    host: Host = None,
    port: Port = None,
    home: Home = None,
    comfyui: Annotated[
        str | None, typer.Option(help="A ComfyUI to use instead of the built-in engine: its URL.")
    ] = None,
    engine_port: Annotated[
        int | None, typer.Option(help="Port of the built-in engine; a free one if not said.")
    ] = None,
    engine: Annotated[bool | None, typer.Option("--engine/--no-engine", help="Off: the control plane alone.")] = None,
    autoscale: Annotated[
        bool | None,
        typer.Option("--autoscale", help="No fixed worker: the demo's fleet scales from zero to three with its queue."),
    ] = None,
) -> None:
    """Start everything on embedded defaults, set up on the first start."""
    from comfyfleet.cli.up import run_embedded  # the web stack loads only where it runs

    run_embedded(
        host=host,
        port=port,
        home=home,
        comfyui=comfyui,
        engine_port=engine_port,
        engine=engine,
        autoscale=autoscale,
    )


@app.command("serve")
def serve(host: Host = None, port: Port = None) -> None:
    """Start one control-plane replica on the configured databases and object store."""
    from comfyfleet.cli.serve import run_replica

    run_replica(host=host, port=port)


@app.command("engine")
def engine(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port to listen on; 0 takes a free one and prints it.")] = 8188,
    folder: Annotated[Path, typer.Option("--dir", help="Folder for input, output and temp.")] = Path("engine"),
) -> None:
    """Start the built-in ComfyUI-compatible server: pictures and films on the CPU, no GPU needed."""
    from comfyfleet.cli.engine import run_engine

    run_engine(host=host, port=port, folder=folder)


demo_app = typer.Typer(no_args_is_help=False, help="Try it: effects and a pipeline, against `comfyfleet up`.")
app.add_typer(demo_app, name="demo", invoke_without_command=True)


@demo_app.callback()
def demo(
    context: typer.Context,
    effect: Annotated[list[str] | None, typer.Option(help="Only this one; repeatable. Default: all five.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("demo"),
    url: Annotated[str | None, typer.Option(help="Where the server is. Default: where `up` runs.")] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Upload a sample, order effects, watch them run, keep the results: against `comfyfleet up`."""
    if context.invoked_subcommand is not None:
        return
    from comfyfleet.cli.demo import run_demo

    run_demo(url=url, home=home, names=effect or [], out=out, as_json=as_json)


@demo_app.command("pipeline")
def demo_pipeline(
    out: Annotated[Path, typer.Option(help="Folder for the winners and the contact sheet.")] = Path("demo-pipeline"),
    sets: Annotated[list[str] | None, typer.Option("--set", help="NAME=VALUE: scene or mood.")] = None,
    variants: Annotated[int, typer.Option("--variants", "-n", min=1, max=50, help="Candidates a parent.")] = 4,
    top: Annotated[int, typer.Option("--top", "-k", min=1, max=50, help="How many of a step's best go on.")] = 2,
    url: Annotated[str | None, typer.Option(help="Where the server is. Default: where `up` runs.")] = None,
    home: Home = None,
    as_json: AsJson = False,
) -> None:
    """Run the example pipeline from nothing to ranked finals with a contact sheet.

    Gates open for the sharpest that do not look alike.
    """
    from comfyfleet.cli.demo_pipeline import run_demo_pipeline

    run_demo_pipeline(url=url, home=home, out=out, sets=sets or [], variants=variants, top=top, as_json=as_json)


@app.command("simulate")
def simulate(
    workers: Annotated[int, typer.Option(min=1, max=10_000, help="Simulated workers, a GPU each.")] = 200,
    jobs: Annotated[int, typer.Option(min=1, max=10_000_000, help="Jobs to order.")] = 20_000,
    tenants: Annotated[int, typer.Option(min=1, max=1_000, help="Who order them; the first has half of all.")] = 5,
    seconds: Annotated[float, typer.Option(min=0.01, max=86_400, help="What a job takes on average.")] = 10.0,
    output_bytes: Annotated[int, typer.Option(min=1, max=10**8, help="Size of a result.")] = 1_000,
    control_plane: Annotated[
        str | None, typer.Option(help="URL; an operator's key in COMFYFLEET_OPERATOR_KEY. Default: one of its own.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Another seed, other lengths of jobs.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Try a control plane with many workers that only sleep: throughput, waits, fairness, GPU busy share."""
    from comfyfleet.cli.simulate import run_simulation
    from comfyfleet.simulate.plan import Plan

    plan = Plan(workers, jobs, tenants, seconds, output_bytes, seed)
    run_simulation(plan, control_plane=control_plane, as_json=as_json)


@app.command("simulate-day")
def simulate_day(
    day: Annotated[str, typer.Option(help="big (many GPUs, models, Spot), consumer or sparse.")] = "big",
    scale: Annotated[float, typer.Option(help="Part of 10,000 GPUs, for the big day.")] = 0.01,
    hours: Annotated[float, typer.Option(min=0.1, max=168, help="How much of the day.")] = 24.0,
    seed: Annotated[int, typer.Option(help="The same seed gives the same day.")] = 1,
    policies: Annotated[
        list[str] | None,
        typer.Option("--policy", help="comfyfleet, target-tracking or keda; repeatable. Default: all."),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML page with plots to this file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Simulate a day of a fleet in virtual time: GPU-hours, dollars, waits, fairness, ours beside other policies."""
    from comfyfleet.cli.simulate_day import run_day

    run_day(day, scale=scale, hours=hours, seed=seed, policies=policies or [], report=report, as_json=as_json)


@app.command("worker")
def worker(
    control_plane_url: Annotated[
        str | None, typer.Option("--control-plane", "--url", help="Address of the control plane.")
    ] = None,
    fleet_secret: Annotated[
        str | None, typer.Option(help="Better in COMFYFLEET_FLEET_SECRET: a list of processes shows this.")
    ] = None,
    fleet_secret_file: Annotated[Path | None, typer.Option(help="A file that holds the fleet secret.")] = None,
    fleet: Annotated[str | None, typer.Option(help="Slug of the fleet to join; with --stage.")] = None,
    stage: Annotated[str | None, typer.Option(help="Stage of that fleet, such as production.")] = None,
    workflows: Annotated[
        list[str] | None, typer.Option("--workflow", help="A workflow to run; may be repeated.")
    ] = None,
    worker_id: Annotated[str | None, typer.Option(help="Its name. Default: EC2 instance id, or host name.")] = None,
    servers: Annotated[
        list[str] | None, typer.Option("--server", help="URL of a local ComfyUI; may be repeated.")
    ] = None,
    providers: Annotated[
        list[str] | None, typer.Option("--provider", help="self_hosted (default) or cloud; may be repeated.")
    ] = None,
    concurrency: Annotated[int | None, typer.Option(help="Jobs at once.")] = None,
    comfyui_command: Annotated[
        list[str] | None, typer.Option(help="Starts the local ComfyUI and keeps it running; one for each --server.")
    ] = None,
    comfyui_dir: Annotated[Path | None, typer.Option(help="ComfyUI's folder: our files there are cleaned up.")] = None,
    home: Home = None,
    status_host: Annotated[str | None, typer.Option("--host", help="Address of /healthz and /metrics.")] = None,
    status_port: Annotated[int | None, typer.Option("--port", help="Their port; 0 takes a free one.")] = None,
    log_format: Annotated[str | None, typer.Option(help="auto, json or console.")] = None,
    log_level: Annotated[str | None, typer.Option(help="debug, info, warning or error.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file with these and more settings.")] = None,
) -> None:
    """Run jobs on this machine's ComfyUI, or on Comfy Cloud. Ctrl-C or SIGTERM drains it; twice, it leaves at once."""
    from comfyfleet.cli.worker import start_worker

    start_worker(
        config,
        control_plane_url=control_plane_url,
        fleet_secret=fleet_secret,
        fleet_secret_file=fleet_secret_file,
        fleet=fleet,
        stage=stage,
        workflows=workflows,
        worker_id=worker_id,
        servers=servers,
        providers=providers,
        concurrency=concurrency,
        comfyui_command=comfyui_command,
        comfyui_dir=comfyui_dir,
        home=home,
        status_host=status_host,
        status_port=status_port,
        log_format=log_format,
        log_level=log_level,
    )


@app.command("audit")
def audit(as_json: AsJson = False) -> None:
    """Check on the live system that nothing is wrong: every invariant, in every database. Reads only."""
    from comfyfleet.cli.audit import run_audit

    run_audit(as_json=as_json)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"comfyfleet {__version__}")
        raise typer.Exit


@app.callback()
def main(
    _: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")] = False,
) -> None:
    """Settings come from COMFYFLEET_* variables and comfyfleet.toml."""


def run() -> None:
    try:
        app()
    except FleetError as error:
        print_error(error, as_json="--json" in sys.argv)
        sys.exit(exit_code(error))
