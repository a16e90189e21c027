"""What can be run: a registered ComfyUI graph."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from comfyfleet.kernel.ids import WorkflowId


@dataclass(frozen=True, slots=True)
class Workflow:
    id: WorkflowId
    slug: str
    name: str
    is_active: bool
    structure_hash: str
    run_deadline_s: float | None
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            slug=row.slug,
            name=row.name,
            is_active=row.is_active,
            structure_hash=row.structure_hash,
            run_deadline_s=row.run_deadline_s,
            created_at=row.created_at,
        )
