"""Signed requests for a lease's results, and whether what is said to be there is there."""

from collections.abc import Sequence

from comfyfleet import dispatch
from comfyfleet.api.worker.calls import Call
from comfyfleet.api.worker.places import output_folder, output_key, signed
from comfyfleet.api.worker.polling import identified, proof
from comfyfleet.dispatch import HeldLease, LeaseProof
from comfyfleet.kernel.errors import LeaseLost, OutputMissing
from comfyfleet.storage import ObjectKey
from comfyfleet.wire import worker_v1 as wire


async def outputs(call: Call) -> wire.OutputsReply:
    """Signed PUTs under the lease, as often as needed: a job longer than a URL's life still delivers."""
    asked, worker = await identified(call, wire.Outputs)
    lease = await _lease(call, proof(worker, asked))
    if lease is None:
        raise LeaseLost(asked.dispatch_id, "it ran out, ended, or is another worker's now")

    def sign() -> list[wire.OutputUrl]:
        return [_signed(call, lease, wanted) for wanted in asked.outputs]

    return wire.OutputsReply(outputs=await signed(call.house.store, sign))


def _signed(call: Call, lease: HeldLease, wanted: wire.WantedOutput) -> wire.OutputUrl:
    key = output_key(lease, wanted.name)
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
        if not output.path.startswith(output_folder(lease)):
            raise OutputMissing(output.path, "not one of this lease's")
        stored = await call.house.store.head(ObjectKey(output.path))
        if stored is None:
            raise OutputMissing(output.path, "not in the store")
        if stored.size_bytes != output.size:
            raise OutputMissing(output.path, f"{stored.size_bytes} bytes long, not {output.size}")


async def _lease(call: Call, held: LeaseProof) -> HeldLease | None:
    async with call.house.control_tx(read_only=True) as tx:
        return (await dispatch.read_leases(tx, [held])).get(held.dispatch_id)
