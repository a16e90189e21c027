"""The whole way of a graph into the registry: its object first, then its row. No transaction waits for the store."""

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import TypeAlias

from comfyfleet.db import ControlTx
from comfyfleet.storage import ObjectStore
from comfyfleet.workflows.graphs import keep_graph
from comfyfleet.workflows.model import NewVersion, Workflow
from comfyfleet.workflows.register import add_version, add_workflow, check_slug

OpenTx: TypeAlias = Callable[[], AbstractAsyncContextManager[ControlTx]]
# What the edge writes down of it, in the same transaction.
Record: TypeAlias = Callable[[ControlTx, Workflow], Awaitable[None]]


async def publish_workflow(
    store: ObjectStore, control_tx: OpenTx, new: NewVersion, *, slug: str, name: str, record: Record
) -> Workflow:
    check_slug(slug)
    await keep_graph(store, new)
    async with control_tx() as tx:
        made = await add_workflow(tx, new, slug=slug, name=name)
        await record(tx, made)
    return made


async def publish_version(
    store: ObjectStore, control_tx: OpenTx, new: NewVersion, *, slug: str, record: Record
) -> Workflow:
    """In force at once, unless it is the version in force already; then nothing is written down."""
    await keep_graph(store, new)
    async with control_tx() as tx:
        added = await add_version(tx, slug, new)
        if added.is_new:
            await record(tx, added.workflow)
    return added.workflow
