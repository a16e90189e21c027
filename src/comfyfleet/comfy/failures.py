"""Which class of failure is in ComfyUI's own words. ComfyUI has no error codes: types and texts are all there is."""

import re
from dataclasses import asdict

from comfyfleet.comfy.errors import PromptRefused
from comfyfleet.comfy.model import Failed, FailureClass, NodeError

MESSAGE_CHARS_MAX = 2_000
DETAILS_CHARS_MAX = 16_000

_OUT_OF_MEMORY = re.compile(
    r"out of memory|allocation on device|(?:can'?t|cannot|could not) allocate memory|not enough memory"
    r"|insufficient memory|alloc_failed|outofmemory|unable to allocate",
    re.IGNORECASE,
)
_SERVER_FAULT = re.compile(
    r"\bcuda (?:error|driver|runtime)|\bhip error|cudaerror|hiperror|device-side assert|illegal memory access"
    r"|unspecified launch failure|cublas_status_|cudnn_status_|\bcudnn error|\bnccl error|no kernel image is available"
    r"|no nvidia driver|nvml|gpu is lost|fallen off the bus"
    r"|no space left on device|disk quota exceeded|read-only file system|too many open files|input/output error"
    r"|pytorchstreamwriter failed|can't start new thread",
    re.IGNORECASE,
)
_UNREADABLE_INPUT = re.compile(
    r"cannot identify image file|image file is truncated|broken (?:data stream|png file)|not a png file"
    r"|invalid data found when processing input|moov atom not found|could not find (?:video|audio) stream"
    r"|no (?:video|audio) stream|decompression bomb",
    re.IGNORECASE,
)
_UNREADABLE_TYPES = frozenset({"UnidentifiedImageError", "DecompressionBombError", "InvalidDataError"})
# Nodes that read what a user has sent: LoadImage, LoadImageMask, LoadVideo, VHS_LoadVideoPath, LoadAudio …
_READS_INPUT = re.compile(r"load_?(?:image|video|audio|mask|gif|frames)", re.IGNORECASE)

# A value outside its range is the user's; all else that validation finds is the workflow's, a missing weight included.
_USERS_VALUES = frozenset({"value_smaller_than_min", "value_bigger_than_max", "invalid_input_type"})


def is_interruption(exception_type: str) -> bool:
    """Some nodes let ComfyUI's own interruption through as if it were an error."""
    return exception_type.rpartition(".")[2] == "InterruptProcessingException"


def class_of_error(exception_type: str, message: str, node_class: str | None) -> FailureClass:
    name = exception_type.rpartition(".")[2]
    # Memory before CUDA: "CUDA error: out of memory" is a job too large, not a card gone bad.
    if name in ("OutOfMemoryError", "MemoryError") or _OUT_OF_MEMORY.search(message):
        return FailureClass.OUT_OF_MEMORY
    if name == "AcceleratorError" or _SERVER_FAULT.search(message):
        return FailureClass.SERVER_FAULT
    if name in _UNREADABLE_TYPES or _UNREADABLE_INPUT.search(message):
        return FailureClass.USER_INPUT
    if name == "FileNotFoundError" and _READS_INPUT.search(node_class or ""):
        return FailureClass.INFRA  # validation saw the file, so it has been swept away since
    return FailureClass.EXECUTION_ERROR


def failure_of_refusal(refused: PromptRefused) -> Failed:
    """What validation said, as an outcome. Nothing was queued."""
    first = refused.node_errors[0] if refused.node_errors else None
    users = bool(refused.node_errors) and all(_is_users(error) for error in refused.node_errors)
    return Failed(
        FailureClass.USER_INPUT if users else FailureClass.WORKFLOW_INVALID,
        # Without the server's address: whoever ordered the job reads this.
        f"The server refused the prompt: {refused.facts['summary']}"[:MESSAGE_CHARS_MAX],
        node=first.node if first else None,
        node_class=first.class_type if first else None,
        details="\n".join(_line(error) for error in refused.node_errors)[:DETAILS_CHARS_MAX],
        response={
            "error": {"type": refused.type, "message": refused.reason, "details": refused.details},
            "node_errors": [asdict(error) for error in refused.node_errors],
        },
    )


def _is_users(error: NodeError) -> bool:
    if error.type == "custom_validation_failed":  # LoadImage of a file that is not there
        return bool(_READS_INPUT.search(error.class_type))
    return error.type in _USERS_VALUES


def _line(error: NodeError) -> str:
    return f"{error.node} ({error.class_type}) {error.input_name or ''}: {error.type}: {error.details or error.message}"
