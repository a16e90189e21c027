"""/comfyfleet/faults: order faults, see them, clear them."""

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from comfyfleet.engine.faults import FaultOrder
from comfyfleet.engine.routes.answers import engine_of, json_answer


async def get_faults(request: Request) -> Response:
    return json_answer(msgspec.to_builtins(engine_of(request).board.order))


async def post_faults(request: Request) -> Response:
    try:
        order = msgspec.json.decode(await request.body(), type=FaultOrder)
    except msgspec.DecodeError as error:
        return json_answer({"error": str(error)}, 400)
    engine_of(request).board.set(order)
    return await get_faults(request)


async def delete_faults(request: Request) -> Response:
    """Whoever hangs goes on."""
    engine_of(request).board.set(FaultOrder())
    return await get_faults(request)
