"""Speaking ComfyUI, measured."""
