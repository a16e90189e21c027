"""What is said to and of workflows over HTTP."""

import json
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Field

from comfyfleet import workflows
from comfyfleet.api.bodies import Body, View
from comfyfleet.api.properties import PropertyView, Value
from comfyfleet.comfy.graph import hash_graph
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.kernel.ids import WorkflowId
from comfyfleet.workflows import NewVersion, PropertyType, ReadyGraph, Requirements, Version, Workflow
from comfyfleet.workflows.properties import CHOICES_MAX, PROPERTIES_MAX

RUN_DEADLINE_S_MAX = 7 * 86_400
NAMES_MAX = 2_000
VRAM_GB_MAX = 100_000

Provider = Literal["self_hosted", "cloud"]
Name = Annotated[str, Field(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]
Measure = Annotated[float, Field(allow_inf_nan=False)]


class RequirementsView(View):
    """What a server must have to run it: node classes, model files, memory."""

    node_classes: list[str]
    weights: list[str]
    vram_gb: float | None

    @classmethod
    def of(cls, found: Requirements) -> Self:
        return cls.model_validate(found.as_json())


class WorkflowView(View):
    """`structure_hash`, `provider`, `expected_s` and `run_deadline_s` are those of the version in force."""

    id: WorkflowId
    slug: str
    name: str
    is_active: bool
    version: int
    structure_hash: str
    provider: Provider
    expected_s: float
    run_deadline_s: float | None
    created_at: datetime


class WorkflowPage(View):
    workflows: list[WorkflowView]
    next_cursor: str | None


class VersionView(View):
    """Never changes. `output_node`: whose first output is the result; null: of the nodes that save, the lowest id's."""

    version: int
    content_hash: str
    structure_hash: str
    graph_bytes: int
    properties: list[PropertyView]
    output_node: str | None
    requirements: RequirementsView
    provider: Provider
    expected_s: float
    run_deadline_s: float | None
    note: str
    created_at: datetime

    @classmethod
    def of(cls, found: Version) -> Self:
        return cls(
            version=found.version,
            content_hash=found.content_hash,
            structure_hash=found.structure_hash,
            graph_bytes=found.graph_bytes,
            properties=[PropertyView.model_validate(each) for each in found.properties],
            output_node=found.output_node,
            requirements=RequirementsView.of(found.requirements),
            provider=found.provider,
            expected_s=found.expected_s,
            run_deadline_s=found.run_deadline_s,
            note=found.note,
            created_at=found.created_at,
        )


class VersionList(View):
    in_force: int
    versions: list[VersionView]


class WorkflowDetailView(View):
    workflow: WorkflowView
    version: VersionView

    @classmethod
    def of(cls, found: Workflow, version: Version) -> Self:
        return cls(workflow=WorkflowView.model_validate(found), version=VersionView.of(version))


class GraphView(View):
    graph: dict[str, Any]


class DefinitionsView(View):
    """Node classes as a worker's servers say them. `worker_id`: who reported them first; `seen_at`: named last then."""

    digest: str
    worker_id: str
    seen_at: datetime


class ProposalView(View):
    """Correct it, and send it with the graph as a new workflow. `output_node` is null where several of `saving_nodes`
    could make the result: somebody has to say.

    `converted`: the graph in API format, where the editor's was given. `definitions`: whose node classes gave ranges,
    choices and the conversion; null: no worker has reported all classes of this graph.
    """

    properties: list[PropertyView]
    output_node: str | None
    saving_nodes: list[str]
    requirements: RequirementsView
    content_hash: str
    structure_hash: str
    converted: dict[str, Any] | None
    definitions: DefinitionsView | None

    @classmethod
    def of(cls, ready: ReadyGraph) -> Self:
        kept, graph = workflows.read_graph_text(ready.graph)
        hashes, info = hash_graph(kept), ready.object_info
        return cls(
            converted=graph if ready.is_converted else None,
            definitions=DefinitionsView.model_validate(ready.used) if ready.used else None,
            properties=[
                PropertyView.model_validate(each)
                for each in workflows.propose_properties(graph, info, reported=ready.reported)
            ],
            output_node=workflows.propose_output_node(graph, info),
            saving_nodes=[each.node for each in workflows.list_saving_nodes(graph, info)],
            requirements=RequirementsView.of(workflows.find_requirements(graph)),
            content_hash=hashes.content,
            structure_hash=hashes.structure,
        )


class GraphBody(Body):
    """`graph`: as ComfyUI's "Export (API)" writes it; or as the editor saves it, where a worker has its classes."""

    graph: dict[str, Any]


class PropertyBody(Body):
    """Goes to a `placeholder` in the graph, `{{name}}`, or to the input `input_name` of the node `node`.

    `is_primary_input`: the picture or film that the user's own upload goes to; one property at most.
    """

    # A default is put into the graph as it stands.
    model_config = ConfigDict(str_strip_whitespace=False)

    name: Annotated[str, Field(min_length=1, max_length=100)]
    type: PropertyType
    label: Annotated[str, Field(max_length=200)] = ""
    description: Annotated[str, Field(max_length=2_000)] = ""
    default: Value | None = None
    required: bool = False
    minimum: Measure | None = None
    maximum: Measure | None = None
    step: Measure | None = None
    choices: Annotated[list[Value], Field(max_length=CHOICES_MAX)] | None = None
    multiline: bool = False
    placeholder: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    node: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    input_name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    is_primary_input: bool = False


class RequirementsBody(Body):
    """What is left out is read from the graph."""

    node_classes: Annotated[list[Name], Field(max_length=NAMES_MAX)] | None = None
    weights: Annotated[list[Name], Field(max_length=NAMES_MAX)] | None = None
    vram_gb: Annotated[float, Field(ge=0, le=VRAM_GB_MAX)] | None = None


class NewVersionBody(GraphBody):
    """`structure_hash`: by default made from the graph. `expected_s`: on a GPU, for estimates and fair share.

    `output_node`: whose first output is the result; needed where several nodes save.
    """

    properties: list[PropertyBody] = Field([], max_length=PROPERTIES_MAX)
    output_node: Name | None = None
    structure_hash: Annotated[str, Field(min_length=1, max_length=128)] | None = None
    requirements: RequirementsBody | None = None
    provider: Provider = "self_hosted"
    expected_s: Annotated[float, Field(ge=0.001, le=RUN_DEADLINE_S_MAX)] = 1.0
    run_deadline_s: Annotated[int, Field(ge=1, le=RUN_DEADLINE_S_MAX)] | None = None
    note: Annotated[str, Field(max_length=1_000)] = ""

    def prepared(self, ready: ReadyGraph) -> NewVersion:
        """`ready`: of this body's graph."""
        said = [each.model_dump(exclude_none=True) for each in self.properties]
        asked = self.requirements or RequirementsBody()
        return workflows.prepare_version(
            ready.graph,
            properties=workflows.read_properties(said),
            output_node=self.output_node,
            structure_hash=self.structure_hash,
            node_classes=asked.node_classes,
            weights=asked.weights,
            vram_gb=asked.vram_gb,
            provider=self.provider,
            expected_s=self.expected_s,
            run_deadline_s=self.run_deadline_s,
            note=self.note,
            definitions=ready.reported,
        )


class NewWorkflowBody(NewVersionBody):
    slug: Annotated[str, Field(min_length=1, max_length=100)]
    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None


def written(graph: dict[str, Any]) -> bytes:
    try:
        return json.dumps(graph, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        raise InvalidInput("graph", "holds a number that JSON cannot write, or half a character") from None
