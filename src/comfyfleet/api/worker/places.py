"""Where a lease's results go: each attempt has a folder of its own, so a late one cannot overwrite a delivered one."""

import re
from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

from comfyfleet.dispatch import Grant, HeldLease
from comfyfleet.kernel.ids import new_id
from comfyfleet.storage import ObjectKey, ObjectStore, object_key

EXTENSION = re.compile(r"\.([a-z0-9]{1,8})$")
T = TypeVar("T")


def output_folder(lease: Grant | HeldLease) -> str:
    return f"tenants/{lease.tenant_id}/ai-jobs/{lease.dispatch_id}/{lease.epoch}-{lease.nonce}/"


def output_key(lease: Grant | HeldLease, name: str = "") -> ObjectKey:
    """From ids only; of the name, no more than what it ends with."""
    extension = EXTENSION.search(name.lower())
    return object_key(
        *output_folder(lease).strip("/").split("/"), f"output-{new_id()}.{extension[1] if extension else 'bin'}"
    )


async def signed(store: ObjectStore, sign: Callable[[], T]) -> T:
    """A folder signs at once; S3 may have to renew its credentials first, so in a thread."""
    return sign() if store.disk == "local" else await anyio.to_thread.run_sync(sign)
