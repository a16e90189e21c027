"""What of the recordings the engine does not do, each with its reason. The test holds this list to the truth: a case
that works must leave it, a case that does not must be in it."""

# Whole recordings.
RECORDINGS: dict[str, str] = {
    "e2_interrupt_race_and_latency": "the engine's blur can be interrupted in its course, the real one runs to its end",
    "g2_stalled_websocket_reader": "the graph of 300 nodes was left out of the file",
    "j1_restart_sigint": "a restart needs a process of its own: tests/contract/engine/test_process.py",
    "j1_restart_sigkill": "as j1_restart_sigint",
    "j1_restart_sigterm": "as j1_restart_sigint",
    "m2_assets_enabled": "the engine has no assets",
    "n1_cache_flag_cache_lru_10": "the engine has the default cache only",
    "n1_cache_flag_cache_none": "the engine has the default cache only",
    "n2_model_reload_cache_lru_20": "the engine has the default cache only",
}

# Single requests: recording, number of the request in it (from 0), method and path.
_BEFORE = "shows prompts that ran before, not all of them in the recordings"
_CHANCE = "which of several outputs is first"
_ITSELF = "the server describes itself"
_NO_WEIGHTS = "the engine has no weights"
_NO_INTERFACE = "the engine has no web interface"
REQUESTS: dict[str, str] = {
    "d1_execution_errors #13 POST /prompt": "the words of torch's allocator; the engine names its own limit",
    "f1_queue_and_history_ops #23 GET /history?max_items=1&offset=0": _BEFORE,
    "f1_queue_and_history_ops #25 GET /api/jobs?limit=2": _BEFORE,
    "f1_queue_and_history_ops #26 GET /api/jobs?limit=2&offset=2&sort_order=asc": _BEFORE,
    "f1_queue_and_history_ops #27 GET /api/jobs?status=failed&limit=1": _BEFORE,
    "f1_queue_and_history_ops #28 GET /api/jobs?status=cancelled": _BEFORE,
    "i1_endpoints #0 GET /system_stats": _ITSELF,
    "i1_endpoints #1 GET /api/system_stats": _ITSELF,
    "i1_endpoints #11 GET /models/checkpoints": _NO_WEIGHTS,
    "i1_endpoints #14 GET /experiment/models": _NO_WEIGHTS,
    "i1_endpoints #15 GET /experiment/models/checkpoints": _NO_WEIGHTS,
    "i1_endpoints #20 GET /extensions": _NO_INTERFACE,
    "i1_endpoints #32 GET /internal/folder_paths": _NO_WEIGHTS,
    "i1_endpoints #34 GET /internal/files/output": _BEFORE,
    "i1_endpoints #37 GET /internal/logs/raw": "the engine's log is on its own stderr",
    "i1_endpoints #38 GET /": _NO_INTERFACE,
    "i1_endpoints #45 GET /assets": _NO_INTERFACE,
    "i1_endpoints #49 GET /node_replacements": _NO_INTERFACE,
    "i1_endpoints #50 GET /api/node_replacements": _NO_INTERFACE,
    "k1_output_kinds #9 GET /api/jobs/2c5d14b7-5595-45af-af82-d6ea579ad90d": _CHANCE,
}

# Node classes that the engine does not have: their prompts are not sent, and nothing is asked about them.
NODE_CLASSES: dict[str, str] = {
    "Preview3D": "no three-dimensional things",
    "SaveImageDataSetToFolder": "a saver of training sets",
}
