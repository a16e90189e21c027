"""The server did what it was asked, and its answer never arrived: the same words again, over real sockets."""

import httpx2
import pytest

from comfyfleet import dispatch
from comfyfleet.kernel.ids import DispatchId, new_id
from tests.database.desk.shop import Shop
from tests.faults.conftest import SocketWorker
from tests.proxy import Proxy
from tests.server import ServerProcess


async def counts(shop: Shop, dispatch_id: DispatchId) -> tuple[str, int, int]:
    async with shop.house.control_tx(read_only=True) as tx:
        found = await dispatch.require_dispatch(tx, dispatch_id)
    return found.status.value, found.epoch, found.attempts


async def lose(proxy: Proxy, worker: SocketWorker, verb: str, **said: object) -> None:
    proxy.loses_replies, before = True, proxy.lost
    with pytest.raises(httpx2.TransportError):
        await worker.say(verb, **said)
    proxy.loses_replies = False
    assert proxy.lost == before + 1


async def test_l1_a_poll_whose_reply_was_lost_gets_the_same_lease_again(
    shop: Shop, server: ServerProcess, soak: bool
) -> None:
    made = await shop.register()
    async with Proxy(server.port) as proxy, httpx2.AsyncClient(base_url=proxy.url) as client:
        worker = SocketWorker(made, client)
        for _ in range(1000 if soak else 20):
            [dispatch_id] = await shop.place()
            poll_id = str(new_id())
            await lose(proxy, worker, "poll", poll_id=poll_id, wait_seconds=10)
            assert await counts(shop, dispatch_id) == ("leased", 1, 1)
            job = (await worker.say("poll", poll_id=poll_id)).json()["job"]
            assert (job["dispatch_id"], job["epoch"]) == (str(dispatch_id), 1)
            ended = {"dispatch_id": job["dispatch_id"], "lease_token": job["lease_token"]}
            await lose(proxy, worker, "heartbeat", **ended)
            assert (await worker.say("heartbeat", **ended)).json()["lost"] == []
            await lose(proxy, worker, "complete", **ended)
            again = (await worker.say("complete", **ended)).json()
            assert (again["status"], again["replayed"]) == ("completed", True)
            assert await counts(shop, dispatch_id) == ("completed", 1, 1)
