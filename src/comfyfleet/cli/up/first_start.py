"""What a start of `up` finds in its home, and makes if it is not there: a fleet with its secret, and the demo."""

from dataclasses import dataclass
from pathlib import Path

from comfyfleet.bootstrap import write_private_file
from comfyfleet.cli.acting import os_user
from comfyfleet.demo.catalogue import CATALOGUE
from comfyfleet.demo.choose import Choice
from comfyfleet.demo.seed import Seeder
from comfyfleet.house import House
from comfyfleet.kernel.secret import Secret

FLEET_SECRET_FILE = "fleet.secret"  # noqa: S105 the name of a file
# Written last: while it is missing, nobody can use the demo.
DEMO_KEY_FILE = "demo.key"
# The effects that were made, one a line.
EFFECTS_FILE = "demo.effects"


@dataclass(frozen=True, slots=True)
class Furnished:
    """`demo_key`: None where there is no demo. `demo_password` is known only to the start that made it."""

    fleet_secret: Path
    demo_key: Path | None = None
    demo_password: Secret | None = None


async def furnish(house: House, home: Path) -> Furnished:
    """All that needs no ComfyUI; the effects come when it is known what it can run."""
    seeder = Seeder(house, os_user())
    await seeder.ensure_fleet()
    secret, key = home / FLEET_SECRET_FILE, home / DEMO_KEY_FILE
    if not secret.exists():
        write_private_file(secret, (await seeder.make_fleet_secret()).reveal() + "\n")
    if key.exists():
        _note_older_demo(home)
        return Furnished(secret, key)
    if not await seeder.is_wanted():
        return Furnished(secret)
    demo = await seeder.ensure_user()
    write_private_file(home / EFFECTS_FILE, "")
    write_private_file(key, (await seeder.make_key(demo.user)).reveal() + "\n")
    return Furnished(secret, key, demo.password)


async def furnish_effects(house: House, home: Path, choice: Choice) -> None:
    """Those that no start has made yet: what somebody has taken away since stays away."""
    known = _made(home)
    fresh = [each for each in choice.effects if each.slug not in known]
    seeder = Seeder(house, os_user())
    await seeder.ensure_effects(fresh)
    await seeder.ensure_pipelines()
    if fresh:
        made = [*known, *(each.slug for each in fresh)]
        write_private_file(home / EFFECTS_FILE, "\n".join(made) + "\n")


def _note_older_demo(home: Path) -> None:
    """A home whose demo was made before this file was written: it got the five of the built-in engine."""
    if not (home / EFFECTS_FILE).exists():
        write_private_file(home / EFFECTS_FILE, "\n".join(each.slug for each in CATALOGUE) + "\n")


def _made(home: Path) -> list[str]:
    try:
        return (home / EFFECTS_FILE).read_text().split()
    except FileNotFoundError:
        return []
