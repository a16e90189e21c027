"""Workflows: registered ComfyUI graphs, by slug."""

from comfyfleet.workflows.model import Workflow
from comfyfleet.workflows.read import find_workflow, list_workflows, read_graph, require_active
from comfyfleet.workflows.register import add_workflow, set_workflow_active

__all__ = [
    "Workflow",
    "add_workflow",
    "find_workflow",
    "list_workflows",
    "read_graph",
    "require_active",
    "set_workflow_active",
]
