"""Errors on the way to a server, as outcomes. Nothing has run, or nobody knows whether it has."""

import re
from collections.abc import Iterable

from comfyfleet.comfy.errors import AccessRefused, AnswerTooLarge, OutputGone, PromptRefused, UploadRefused
from comfyfleet.comfy.failures import failure_of_refusal
from comfyfleet.comfy.model import Failed, FailureClass, NodeError, Outcome, Returned
from comfyfleet.kernel.errors import FleetError, Refused, Unavailable
from comfyfleet.pool.judge import Ending

_WEIGHTS = re.compile(r"\.(?:safetensors|sft|ckpt|pth?|bin|gguf|onnx|engine|trt|pkl)\b", re.IGNORECASE)
_MISSING_NODE = frozenset({"missing_node_type", "invalid_prompt"})


def ending_of(error: FleetError) -> Ending:
    match error:
        case PromptRefused():
            return Ending(failure_of_refusal(error), lacks=lacks_something(error))
        case _:
            return Ending(outcome_of(error))


def outcome_of(error: FleetError) -> Outcome:
    match error:
        case UploadRefused() if error.status < 500:
            return Failed(FailureClass.USER_INPUT, error.message)
        case AccessRefused() | UploadRefused() | OutputGone():
            return Failed(FailureClass.INFRA, error.message)
        case Refused():
            return Failed(FailureClass.WORKFLOW_INVALID, error.message)
        case AnswerTooLarge() if str(error.facts["route"]).endswith("/view"):
            # The limit is ours: to run it again would make the same file.
            return Failed(FailureClass.WORKFLOW_INVALID, error.message)
        case Unavailable():
            return Returned(error.message)
        case _:
            return Failed(FailureClass.INFRA, error.message)


def lacks_something(refused: PromptRefused) -> bool:
    """Whether another server might take the same prompt: this one has not got a node class or a weight it names."""
    if refused.type in _MISSING_NODE and not refused.node_errors:
        return True
    return any(_names_a_weight(error) or error.type in _MISSING_NODE for error in refused.node_errors)


def names_any(refused: PromptRefused, files: Iterable[str]) -> bool:
    said = " ".join(f"{error.message} {error.details}" for error in refused.node_errors)
    return any(name in said for name in files)


def _names_a_weight(error: NodeError) -> bool:
    # "ckpt_name: 'x.safetensors' not in ['y.safetensors']": what counts is the value, not what the server has.
    return error.type == "value_not_in_list" and bool(_WEIGHTS.search(error.details.partition(" not in ")[0]))
