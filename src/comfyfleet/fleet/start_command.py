"""What to type on a machine so that it joins a fleet."""

import shlex

from comfyfleet.fleet.model import Fleet
from comfyfleet.kernel.secret import Secret

SECRET_VARIABLE = "COMFYFLEET_FLEET_SECRET"  # noqa: S105 the name of a variable
PASTE_HERE = "<paste a fleet secret>"


def start_command(fleet: Fleet, *, control_plane_url: str, secret: Secret | None = None) -> str:
    """One line for a shell. The secret stands in the environment, where a list of processes does not show it."""
    shown = secret.reveal() if secret is not None else PASTE_HERE
    words = [
        "comfyfleet",
        "worker",
        "--control-plane",
        control_plane_url,
        "--fleet",
        fleet.slug,
        "--stage",
        fleet.stage,
    ]
    return f"{SECRET_VARIABLE}={shlex.quote(shown)} {shlex.join(words)}"
