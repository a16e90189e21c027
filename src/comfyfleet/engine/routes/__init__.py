"""ComfyUI's routes, plain and under /api."""
