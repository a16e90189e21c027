"""Faults of files: what was made is blown up, or taken away, after it was named."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from comfyfleet.engine.faults import PromptFaults
from comfyfleet.engine.folders import Folders


def tamper_with_files(ui: Mapping[str, Any], faults: PromptFaults, folders: Folders) -> None:
    paths = _files(ui, folders)
    if faults.huge_output_bytes and paths:
        os.truncate(paths[0], faults.huge_output_bytes)
    if faults.missing_output:
        for path in paths:
            path.unlink(missing_ok=True)


def _files(ui: Mapping[str, Any], folders: Folders) -> list[Path]:
    named = [entry for entries in ui.values() for entry in entries if isinstance(entry, dict) and "filename" in entry]
    return [folders.within(entry["type"], entry["subfolder"], entry["filename"]) for entry in named]
