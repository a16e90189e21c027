"""What a start of `up` finds in its home, and makes if it is not there: a fleet with its secret, and the demo."""

from dataclasses import dataclass
from pathlib import Path

from comfyfleet.bootstrap import write_private_file
from comfyfleet.cli.acting import os_user
from comfyfleet.demo.seed import Seeder
from comfyfleet.house import House
from comfyfleet.kernel.secret import Secret

FLEET_SECRET_FILE = "fleet.secret"  # noqa: S105 the name of a file
# Written last: while it is missing, the demo is not whole.
DEMO_KEY_FILE = "demo.key"


@dataclass(frozen=True, slots=True)
class Furnished:
    """`demo_key`: None where there is no demo. `demo_password` is known only to the start that made it."""

    fleet_secret: Path
    demo_key: Path | None = None
    demo_password: Secret | None = None


async def furnish(house: House, home: Path) -> Furnished:
    seeder = Seeder(house, os_user())
    await seeder.ensure_fleet()
    secret, key = home / FLEET_SECRET_FILE, home / DEMO_KEY_FILE
    if not secret.exists():
        write_private_file(secret, (await seeder.make_fleet_secret()).reveal() + "\n")
    if key.exists():
        await seeder.ensure_pipeline()
        return Furnished(secret, key)
    if not await seeder.is_wanted():
        return Furnished(secret)
    demo = await seeder.ensure_user()
    await seeder.ensure_effects()
    await seeder.ensure_pipeline()
    write_private_file(key, (await seeder.make_key(demo.user)).reveal() + "\n")
    return Furnished(secret, key, demo.password)
