"""Workflows: registered ComfyUI graphs by slug, in versions that never change, with typed properties."""

from comfyfleet.workflows.model import NewVersion, Requirements, Version, Workflow
from comfyfleet.workflows.payload import Asset, Chosen, choose, fill_graph, targets_of
from comfyfleet.workflows.properties import Property, PropertyType, check_value, read_properties
from comfyfleet.workflows.propose import find_requirements, propose_output_node, propose_properties
from comfyfleet.workflows.read import find_version, find_workflow, list_versions, list_workflows, require_active
from comfyfleet.workflows.register import (
    GRAPH_BYTES_MAX,
    add_version,
    add_workflow,
    prepare_version,
    set_workflow_active,
    use_version,
)

__all__ = [
    "GRAPH_BYTES_MAX",
    "Asset",
    "Chosen",
    "NewVersion",
    "Property",
    "PropertyType",
    "Requirements",
    "Version",
    "Workflow",
    "add_version",
    "add_workflow",
    "check_value",
    "choose",
    "fill_graph",
    "find_requirements",
    "find_version",
    "find_workflow",
    "list_versions",
    "list_workflows",
    "prepare_version",
    "propose_output_node",
    "propose_properties",
    "read_properties",
    "require_active",
    "set_workflow_active",
    "targets_of",
    "use_version",
]
