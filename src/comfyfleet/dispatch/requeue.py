"""A worker gives a lease back without fault of the job: a Spot notice, a drain, work leased too far ahead."""

from comfyfleet.db import ControlTx
from comfyfleet.dispatch import blocks, sql
from comfyfleet.dispatch.finish import (
    Report,
    answer_the_rest,
    cancel_unwanted,
    close_attempts,
    fail_dispatch,
    of_tenant,
    service_facts,
)
from comfyfleet.dispatch.heartbeat import lease_key
from comfyfleet.dispatch.model import Dispatch, Ended, QueueRules
from comfyfleet.dispatch.tokens import LeaseSigner
from comfyfleet.kernel.errors import LeaseLost


async def requeue_dispatch(
    tx: ControlTx, report: Report, *, signer: LeaseSigner, rules: QueueRules, chance: float
) -> Ended | LeaseLost:
    """Back to its old place at once, and the attempt does not count; at most `max_releases` times, then it does.

    One that nobody wants any more is cancelled."""
    found = await tx.maybe(sql.by_id(report.proof.dispatch_id))
    if found is None:
        return (await answer_the_rest(tx, [report], {}, signer=signer))[report.proof.dispatch_id]
    dispatch = Dispatch.from_row(found)
    gives_back = dispatch.releases < dispatch.max_releases
    if not gives_back and dispatch.exhausted:
        return await fail_dispatch(tx, report, signer=signer, rules=rules, chance=chance)
    row = await tx.maybe(
        sql.requeue(
            [
                {
                    **lease_key(report.proof),
                    "last_error": f"Requeued: {report.error}",
                    "gives_back": int(gives_back),
                    **service_facts(report),
                }
            ]
        )
    )
    if row is None:
        row = await cancel_unwanted(tx, report)
    ended = await close_attempts(tx, [row] if row is not None else [], {dispatch.id: report}, reason="requeued")
    if row is not None:
        await blocks.forget_probe(tx, dispatch.id)
    return of_tenant((await answer_the_rest(tx, [report], ended, signer=signer))[dispatch.id], dispatch)
