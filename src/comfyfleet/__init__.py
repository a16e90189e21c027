"""comfyfleet runs ComfyUI as a fleet."""

__version__ = "0.1.0"
