"""Blocks: which worker keeps away from which workflow structure, and the operator's word that it need not."""

from fastapi import APIRouter

from comfyfleet import audit, dispatch, fleet
from comfyfleet.api.bodies import View
from comfyfleet.api.operator.policies import SEE, Acting, OfWorker, Pages, StructureHash, WorkerName
from comfyfleet.api.operator.views import BlockView
from comfyfleet.api.policy import TheHouse
from comfyfleet.audit import Action

router = APIRouter(prefix="/blocks")


class BlockPage(View):
    blocks: list[BlockView]
    next_cursor: str | None


@router.get("", dependencies=SEE)
async def get_blocks(house: TheHouse, page: Pages, worker: OfWorker = None) -> BlockPage:
    """By worker: a page holds all blocks of as many workers as its limit says."""
    async with house.control_tx(read_only=True) as tx:
        worker_id = (await fleet.get_worker(tx, worker)).id if worker else None
        found = await dispatch.list_blocks(tx, page, worker_id=worker_id)
    return BlockPage(blocks=[BlockView.model_validate(each) for each in found.rows], next_cursor=found.next_cursor)


@router.delete("/{worker_id}/{structure_hash}", status_code=204)
async def clear_block(worker_id: WorkerName, structure_hash: StructureHash, house: TheHouse, actor: Acting) -> None:
    """The worker gets that structure again from its next poll on; its failures are forgotten."""
    async with house.control_tx() as tx:
        worker = await fleet.get_worker(tx, worker_id)
        await dispatch.clear_block(tx, worker.id, structure_hash)
        action = Action("block.clear", worker_id, {"structure_hash": structure_hash})
        await audit.record_action(tx, actor, action, signer=house.chain)
