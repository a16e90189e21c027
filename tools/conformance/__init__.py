"""Does the engine say what a real ComfyUI said? The requests of the recordings are sent to it, and answers and
messages compared: `python -m tools.conformance`."""
