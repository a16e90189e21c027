"""Who may call an operator's route, in whose name a change is written down, and how things are named in addresses."""

from typing import Annotated

from fastapi import Depends, Path, Query, Request

from comfyfleet.api.acting import actor_of
from comfyfleet.api.bodies import page_request
from comfyfleet.api.policy import OperatorCaller
from comfyfleet.audit import Actor
from comfyfleet.kernel.page import PageRequest
from comfyfleet.tenants import Caller, Scope

SEE = [Depends(OperatorCaller(Scope.READ))]

WORKER_NAME = r"^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$"
SLUG = r"^[a-z0-9]([a-z0-9-]{0,98}[a-z0-9])?$"
STRUCTURE_HASH = r"^(\*|[^/*\x00-\x1f\x7f]{1,128})$"

WorkerName = Annotated[str, Path(pattern=WORKER_NAME, description="As the worker calls itself.")]
WorkflowSlug = Annotated[str, Path(pattern=SLUG)]
StructureHash = Annotated[str, Path(pattern=STRUCTURE_HASH, description="`*`: all that this worker has lanes for.")]
OfWorker = Annotated[str | None, Query(pattern=WORKER_NAME, description="Only of this worker.")]
OfWorkflow = Annotated[str | None, Query(pattern=SLUG, description="Only of this workflow.")]
Pages = Annotated[PageRequest, Depends(page_request)]


async def _acting(request: Request, caller: Annotated[Caller, Depends(OperatorCaller(Scope.OPERATE))]) -> Actor:
    return actor_of(request, caller)


# A route that takes it needs the scope to operate, and has everything that its audit entry says of who and where.
Acting = Annotated[Actor, Depends(_acting)]
