"""Look workflows up."""

from collections.abc import Collection

from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import InvalidInput, NotFound
from comfyfleet.kernel.ids import WorkflowId
from comfyfleet.kernel.page import Page, PageRequest
from comfyfleet.workflows import sql
from comfyfleet.workflows.model import Version, Workflow

VERSIONS_MAX = 100


async def find_workflow(tx: ControlTx, slug: str) -> Workflow:
    row = await tx.maybe(sql.by_slug(slug))
    if row is None:
        raise NotFound("workflow", slug)
    return Workflow.from_row(row)


async def find_version(tx: ControlTx, workflow_id: WorkflowId, version: int) -> Version:
    row = await tx.maybe(sql.version(workflow_id, version))
    if row is None:
        raise NotFound("version", version)
    return Version.from_row(row)


async def list_versions(tx: ControlTx, workflow_id: WorkflowId, *, rows: int = VERSIONS_MAX) -> list[Version]:
    """Newest first."""
    return [Version.from_row(row) for row in await tx.all(sql.versions(workflow_id, rows=rows))]


async def require_active(tx: ControlTx, slugs: list[str]) -> list[Workflow]:
    """All of them, or an error that names the ones that are unknown or inactive."""
    found = {row.slug: Workflow.from_row(row) for row in await tx.all(sql.by_slugs(slugs))}
    unknown = sorted(slug for slug in set(slugs) if slug not in found)
    inactive = sorted(slug for slug, workflow in found.items() if not workflow.is_active)
    problems = [f"unknown: {', '.join(unknown)}"] * bool(unknown) + [f"inactive: {', '.join(inactive)}"] * bool(
        inactive
    )
    if problems:
        raise InvalidInput("workflow_slugs", "; ".join(problems))
    return [found[slug] for slug in dict.fromkeys(slugs)]


async def list_workflows(tx: ControlTx, request: PageRequest) -> Page[Workflow]:
    rows = await tx.all(sql.workflow_page(after=request.after, rows=request.rows))
    return Page.cut([Workflow.from_row(row) for row in rows], [row.id for row in rows], request)


async def slugs_of(tx: ControlTx, ids: Collection[WorkflowId]) -> dict[WorkflowId, str]:
    """Those that are there."""
    return {row.id: row.slug for row in await tx.all(sql.slugs_of(sorted(ids)))} if ids else {}
