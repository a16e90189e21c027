"""Who types: the audit log's name for the command line."""

import getpass
import os

from comfyfleet.audit import Action, Actor, record_action
from comfyfleet.db import ControlTx
from comfyfleet.house import House


def os_user() -> Actor:
    try:
        return Actor("cli", getpass.getuser())
    except (OSError, KeyError):
        # In a container the number may have no name.
        return Actor("cli", f"uid {os.getuid()}")


async def record(house: House, tx: ControlTx, name: str, subject: object, **detail: object) -> None:
    await record_action(tx, os_user(), Action(name, str(subject), detail), signer=house.chain)
