"""Who types: the audit log's name for the command line."""

from __future__ import annotations

import getpass
import os
from typing import TYPE_CHECKING

from comfyfleet.cli.late import Late

if TYPE_CHECKING:
    from comfyfleet import audit
    from comfyfleet.audit import Actor
    from comfyfleet.db import ControlTx
    from comfyfleet.house import House
else:
    audit = Late("comfyfleet.audit")


def os_user() -> Actor:
    try:
        return audit.Actor("cli", getpass.getuser())
    except (OSError, KeyError):
        # In a container the number may have no name.
        return audit.Actor("cli", f"uid {os.getuid()}")


async def record(house: House, tx: ControlTx, name: str, subject: object, **detail: object) -> None:
    await audit.record_action(tx, os_user(), audit.Action(name, str(subject), detail), signer=house.chain)
