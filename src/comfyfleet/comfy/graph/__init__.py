"""Graph tools: load, check, convert, bind, hash; what a graph takes, needs and makes. No server needed."""

from comfyfleet.comfy.graph.bind import Value, bind_values, find_placeholders
from comfyfleet.comfy.graph.check import check_graph, find_problems, is_link, links_of
from comfyfleet.comfy.graph.convert import convert_workflow
from comfyfleet.comfy.graph.definitions import InputDefinition, NodeDefinition, ObjectInfo, find_definition
from comfyfleet.comfy.graph.files import names_server_file
from comfyfleet.comfy.graph.hashes import GraphHashes, content_hash, hash_graph, structure_hash
from comfyfleet.comfy.graph.inputs import GraphInput, InputType, list_inputs
from comfyfleet.comfy.graph.limits import LIMITS, GraphLimits
from comfyfleet.comfy.graph.load import is_interface_format, load_graph, read_workflow
from comfyfleet.comfy.graph.object_info import load_object_info
from comfyfleet.comfy.graph.outputs import OutputNode, list_outputs
from comfyfleet.comfy.graph.portable import Definitions, pack_definitions, unpack_definitions
from comfyfleet.comfy.graph.weights import ModelFile, list_classes, list_models, missing_classes, missing_models

__all__ = [
    "LIMITS",
    "Definitions",
    "GraphHashes",
    "GraphInput",
    "GraphLimits",
    "InputDefinition",
    "InputType",
    "ModelFile",
    "NodeDefinition",
    "ObjectInfo",
    "OutputNode",
    "Value",
    "bind_values",
    "check_graph",
    "content_hash",
    "convert_workflow",
    "find_definition",
    "find_placeholders",
    "find_problems",
    "hash_graph",
    "is_interface_format",
    "is_link",
    "links_of",
    "list_classes",
    "list_inputs",
    "list_models",
    "list_outputs",
    "load_graph",
    "load_object_info",
    "missing_classes",
    "missing_models",
    "names_server_file",
    "pack_definitions",
    "read_workflow",
    "structure_hash",
    "unpack_definitions",
]
