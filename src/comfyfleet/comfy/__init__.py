"""Speaking ComfyUI: a client, a watcher, graph tools and connectors. Needs no server of ours, only `kernel`."""

from comfyfleet.comfy.address import Address, parse_address
from comfyfleet.comfy.client import ComfyClient
from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.limits import Limits
from comfyfleet.comfy.model import (
    Cancelled,
    Checked,
    Completed,
    Failed,
    FailureClass,
    FetchedFile,
    Found,
    NodeError,
    Outcome,
    OutputFile,
    Preview,
    Progress,
    Prompt,
    Queued,
    Returned,
    ServerFacts,
    Submitted,
    Update,
    UploadedFile,
    new_prompt,
)
from comfyfleet.comfy.outputs import list_outputs, local_names, manifest
from comfyfleet.comfy.self_hosted import SelfHosted

__all__ = [
    "Address",
    "Cancelled",
    "Checked",
    "ComfyClient",
    "Completed",
    "Connector",
    "Failed",
    "FailureClass",
    "FetchedFile",
    "Found",
    "Limits",
    "NodeError",
    "Outcome",
    "OutputFile",
    "Preview",
    "Progress",
    "Prompt",
    "Queued",
    "Returned",
    "SelfHosted",
    "ServerFacts",
    "Submitted",
    "Update",
    "UploadedFile",
    "list_outputs",
    "local_names",
    "manifest",
    "new_prompt",
    "parse_address",
]
