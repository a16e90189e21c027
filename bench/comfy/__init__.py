"""Speaking ComfyUI, measured part by part: hashing, frames, the pool."""
