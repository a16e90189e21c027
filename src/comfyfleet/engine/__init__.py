"""A small ComfyUI-compatible server on the CPU that really executes graphs: `comfyfleet engine`."""
