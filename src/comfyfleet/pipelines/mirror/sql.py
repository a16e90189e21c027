"""Statements over what runs made, for the mirror."""

from typing import Any
from uuid import UUID

import sqlalchemy as sa

from comfyfleet.db.tables import candidates, files, pipeline_runs, pipelines
from comfyfleet.storage.lifecycle import FileStatus

c, r, p, f = candidates, pipeline_runs, pipelines, files


def made_after(after: UUID | None, *, rows: int) -> sa.Select[Any]:
    """By their ids, which sort by time."""
    found = (
        sa.select(c.c.id, c.c.tenant_id, c.c.position, c.c.created_at, r.c.target_folder, p.c.steps, f.c.path, f.c.disk)
        .add_columns(f.c.mime_type, f.c.size)
        .join(r, sa.and_(r.c.tenant_id == c.c.tenant_id, r.c.id == c.c.run_id))
        .join(p, sa.and_(p.c.tenant_id == c.c.tenant_id, p.c.id == r.c.pipeline_id))
        .join(f, sa.and_(f.c.tenant_id == c.c.tenant_id, f.c.id == c.c.file_id))
        .where(f.c.status == FileStatus.STORED)
    )
    return (found.where(c.c.id > after) if after else found).order_by(c.c.id).limit(rows)
