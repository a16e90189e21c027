"""Workflows: registered ComfyUI graphs by slug, in versions that never change, with typed properties."""

from comfyfleet.workflows.check_files import NOTHING_REPORTED, FileInputs, check_given
from comfyfleet.workflows.definitions import ReadyGraph, ready_graph
from comfyfleet.workflows.file_inputs import ReportedFileInputs
from comfyfleet.workflows.graphs import keep_graph, read_graph
from comfyfleet.workflows.model import Added, NewVersion, ProviderName, Requirements, Version, Workflow
from comfyfleet.workflows.payload import (
    Asset,
    Chosen,
    MediaObject,
    Payload,
    build_payload,
    choose,
    fill_graph,
    list_assets,
)
from comfyfleet.workflows.properties import Property, PropertyType, check_value, read_properties
from comfyfleet.workflows.propose import (
    find_requirements,
    list_saving_nodes,
    propose_output_node,
    propose_properties,
    require_output_node,
)
from comfyfleet.workflows.publish import publish_version, publish_workflow
from comfyfleet.workflows.read import (
    find_version,
    find_workflow,
    list_versions,
    list_workflows,
    require_active,
    slugs_of,
)
from comfyfleet.workflows.register import (
    GRAPH_BYTES_MAX,
    add_version,
    add_workflow,
    prepare_version,
    read_graph_text,
    set_workflow_active,
    use_version,
)

__all__ = [
    "GRAPH_BYTES_MAX",
    "NOTHING_REPORTED",
    "Added",
    "Asset",
    "Chosen",
    "FileInputs",
    "MediaObject",
    "NewVersion",
    "Payload",
    "Property",
    "PropertyType",
    "ProviderName",
    "ReadyGraph",
    "ReportedFileInputs",
    "Requirements",
    "Version",
    "Workflow",
    "add_version",
    "add_workflow",
    "build_payload",
    "check_given",
    "check_value",
    "choose",
    "fill_graph",
    "find_requirements",
    "find_version",
    "find_workflow",
    "keep_graph",
    "list_assets",
    "list_saving_nodes",
    "list_versions",
    "list_workflows",
    "prepare_version",
    "propose_output_node",
    "propose_properties",
    "publish_version",
    "publish_workflow",
    "read_graph",
    "read_graph_text",
    "read_properties",
    "ready_graph",
    "require_active",
    "require_output_node",
    "set_workflow_active",
    "slugs_of",
    "use_version",
]
