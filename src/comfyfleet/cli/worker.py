"""`comfyfleet worker`: the agent beside ComfyUI."""

from pathlib import Path

import uvloop

from comfyfleet.api.logs import configure_logs
from comfyfleet.kernel.open_files import raise_open_files
from comfyfleet.settings import OTHER_VARIABLES, PREFIX, Settings
from comfyfleet.traces.open import open_traces
from comfyfleet.worker.load_options import load_worker_settings
from comfyfleet.worker.run import run_worker

# Of the command line's own: a shell that has them may start a worker, too.
OTHERS = tuple(name.removeprefix(PREFIX) for name in OTHER_VARIABLES)


def start_worker(config: Path | None, **given: object) -> None:
    said = {name: value for name, value in given.items() if value not in (None, [], ())}
    settings = load_worker_settings(config, also_known=(*Settings.model_fields, *OTHERS), **said)
    configure_logs(settings.log_format, settings.log_level)
    raise_open_files()
    with open_traces("comfyfleet-worker") as traces:
        uvloop.run(run_worker(settings, traces))
