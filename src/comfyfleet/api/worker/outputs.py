"""Where a lease's results go: each attempt has a folder of its own, so a late one cannot overwrite a delivered one."""

import re
from collections.abc import Sequence

from comfyfleet import dispatch
from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.polling import identified, proof
from comfyfleet.dispatch import HeldLease, LeaseProof
from comfyfleet.kernel.errors import LeaseLost, OutputMissing
from comfyfleet.kernel.ids import new_id
from comfyfleet.storage import ObjectKey, object_key
from comfyfleet.wire import worker_v1 as wire

EXTENSION = re.compile(r"\.([a-z0-9]{1,8})$")


async def outputs(call: Call) -> wire.OutputsReply:
    """Signed PUTs under the lease, as often as needed: a job longer than a URL's life still delivers."""
    asked, worker = await identified(call, wire.Outputs)
    lease = await _lease(call, proof(worker, asked))
    if lease is None:
        raise LeaseLost(asked.dispatch_id, "it ran out, ended, or is another worker's now")
    return wire.OutputsReply(outputs=[_signed(call, lease, wanted) for wanted in asked.outputs])


def _signed(call: Call, lease: HeldLease, wanted: wire.WantedOutput) -> wire.OutputUrl:
    key = _key(lease, wanted.name)
    expires_s = call.url_ttl_s
    request = call.house.store.presign_put(
        key, media_type=wanted.mime_type, size_bytes=wanted.size, expires_s=expires_s
    )
    return wire.OutputUrl(
        name=wanted.name,
        path=key,
        output_url=request.url,
        output_headers=dict(request.headers),
        expires_seconds=expires_s,
    )


async def require_outputs(call: Call, held: LeaseProof, named: Sequence[wire.Output]) -> None:
    """What is named must be there, of that size, and made under this lease."""
    lease = await _lease(call, held)
    if lease is None:
        return  # sent again, or lost: the guard of the complete itself knows which
    if len({output.path for output in named}) < len(named):
        raise OutputMissing(named[0].path, "named more than once, or one of the others is")
    for output in named:
        if not output.path.startswith(_folder(lease)):
            raise OutputMissing(output.path, "not one of this lease's")
        stored = await call.house.store.head(ObjectKey(output.path))
        if stored is None:
            raise OutputMissing(output.path, "not in the store")
        if stored.size_bytes != output.size:
            raise OutputMissing(output.path, f"{stored.size_bytes} bytes long, not {output.size}")


async def _lease(call: Call, held: LeaseProof) -> HeldLease | None:
    async with call.house.control_tx(read_only=True) as tx:
        return (await dispatch.read_leases(tx, [held])).get(held.dispatch_id)


def _folder(lease: HeldLease) -> str:
    return f"tenants/{lease.tenant_id}/ai-jobs/{lease.dispatch_id}/{lease.epoch}-{lease.nonce}/"


def _key(lease: HeldLease, name: str) -> ObjectKey:
    """From ids only; of the name, no more than what it ends with."""
    extension = EXTENSION.search(name.lower())
    return object_key(
        *_folder(lease).strip("/").split("/"), f"output-{new_id()}.{extension[1] if extension else 'bin'}"
    )
