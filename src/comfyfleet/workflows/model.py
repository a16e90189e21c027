"""What can be run: a registered ComfyUI graph, in versions that never change."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, Self

from comfyfleet.kernel.ids import WorkflowId
from comfyfleet.workflows.properties import Property

ProviderName = Literal["self_hosted", "cloud"]


@dataclass(frozen=True, slots=True)
class Requirements:
    """What a server must have to run it."""

    node_classes: tuple[str, ...] = ()
    weights: tuple[str, ...] = ()
    vram_gb: float | None = None

    def as_json(self) -> dict[str, Any]:
        return {"node_classes": list(self.node_classes), "weights": list(self.weights), "vram_gb": self.vram_gb}

    @classmethod
    def from_json(cls, said: Any) -> Self:
        return cls(tuple(said.get("node_classes", ())), tuple(said.get("weights", ())), vram_gb=said.get("vram_gb"))


@dataclass(frozen=True, slots=True)
class Workflow:
    """What stands here of a graph is that of the version in force."""

    id: WorkflowId
    slug: str
    name: str
    is_active: bool
    version: int
    structure_hash: str
    provider: ProviderName
    expected_s: float
    run_deadline_s: float | None
    created_at: datetime

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            id=row.id,
            slug=row.slug,
            name=row.name,
            is_active=row.is_active,
            version=row.version,
            structure_hash=row.structure_hash,
            provider=row.provider,
            expected_s=row.expected_s,
            run_deadline_s=row.run_deadline_s,
            created_at=row.created_at,
        )


@dataclass(frozen=True, slots=True)
class Added:
    """`is_new`: not the version in force once more."""

    workflow: Workflow
    is_new: bool


@dataclass(frozen=True, slots=True)
class NewVersion:
    """A graph, checked, with all that is to be known of it. Its object is written before its row."""

    path: str
    graph: bytes
    content_hash: str
    structure_hash: str
    properties: tuple[Property, ...] = ()
    output_node: str | None = None
    requirements: Requirements = field(default_factory=Requirements)
    provider: ProviderName = "self_hosted"
    expected_s: float = 1.0
    run_deadline_s: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    workflow_id: WorkflowId
    version: int
    path: str
    graph_bytes: int
    content_hash: str
    structure_hash: str
    properties: tuple[Property, ...]
    output_node: str | None
    requirements: Requirements
    provider: ProviderName
    expected_s: float
    run_deadline_s: float | None
    note: str
    created_at: datetime

    def is_made_from(self, new: NewVersion) -> bool:
        """Nothing that anybody could notice is different."""
        fields = (
            "content_hash",
            "structure_hash",
            "properties",
            "output_node",
            "requirements",
            "provider",
            "expected_s",
            "run_deadline_s",
        )
        return all(getattr(self, name) == getattr(new, name) for name in fields)

    @property
    def primary_input(self) -> Property | None:
        return next((each for each in self.properties if each.is_primary_input), None)

    @classmethod
    def from_row(cls, row: Any) -> Self:
        return cls(
            workflow_id=row.workflow_id,
            version=row.version,
            path=row.comfyui_workflow_path,
            graph_bytes=row.graph_bytes,
            content_hash=row.content_hash,
            structure_hash=row.structure_hash,
            properties=tuple(Property.from_json(each) for each in row.properties),
            output_node=row.output_node,
            requirements=Requirements.from_json(row.requirements),
            provider=row.provider,
            expected_s=row.expected_s,
            run_deadline_s=row.run_deadline_s,
            note=row.note,
            created_at=row.created_at,
        )
