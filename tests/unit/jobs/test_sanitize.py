"""What of a worker's error a user may read."""

import json

import pytest

from comfyfleet.jobs.sanitize import FALLBACK, MESSAGE_CHARS_MAX, sanitize_worker_error

CASES = {
    "nothing": (None, FALLBACK),
    "empty": (" \n\t ", FALLBACK),
    "first line": ("CUDA error\nat /opt/comfy/nodes.py", "CUDA error"),
    "json": (json.dumps({"exception_message": "Bad size", "traceback": ["/opt/x.py"]}), "Bad size"),
    "json, the other field": (json.dumps({"error_message": "No model\nsecond line"}), "No model"),
    "json, both": (json.dumps({"error_message": "b", "exception_message": "a"}), "a"),
    "json without a message says nothing of itself": (json.dumps({"inputs": {"prompt": "secret"}}), FALLBACK),
    "json with an empty message": (json.dumps({"exception_message": "", "error_message": "x"}), "x"),
    "json inside text": ('Job failed: {"exception_message": "Out of \\"memory\\"", "node": 3', 'Out of "memory"'),
    "a traceback": ('Traceback (most recent call last):\n  File "/opt/x.py"\nValueError: no', "ValueError: no"),
    "control characters": ("bad\x1b[31m red\x00", "bad[31m red"),
    "a code alone, as older workers send it": ("server_restarted", "The server has restarted and lost the prompt."),
    "a code with its words": ("lost: whatever", "The server does not have the prompt any more."),
    "failed everywhere": (
        'workflow_failed_everywhere: {"exception_message": "Bad size"}',
        "It failed on every machine that could run it: Bad size",
    ),
    "failed everywhere without a word": (
        "workflow_failed_everywhere: execution_error",
        "It failed on every machine that could run it.",
    ),
    "a word and a colon": ("lost_weights: no such file", "lost_weights: no such file"),
    "long": ("x" * 5000, "x" * MESSAGE_CHARS_MAX),
    "deep": ("[" * 100_000, "[" * MESSAGE_CHARS_MAX),
}


@pytest.mark.parametrize("name", CASES)
def test_sanitize(name: str) -> None:
    given, wanted = CASES[name]
    assert sanitize_worker_error(given) == wanted
