"""Inputs as ComfyUI's newer schema spells them in /object_info. Older nodes write theirs out."""

from typing import Any

from comfyfleet.engine.node import Spec

SIDE_MAX_PX = 16384
BATCH_MAX = 4096
SEED_MAX = 2**64 - 1

IMAGE: Spec = ("IMAGE", {})
MASK: Spec = ("MASK", {})
AUDIO: Spec = ("AUDIO", {})
VIDEO: Spec = ("VIDEO", {})
METADATA: dict[str, Spec] = {"prompt": ("PROMPT",), "extra_pnginfo": ("EXTRA_PNGINFO",)}


def integer(default: int, least: int, most: int, step: int | None = None, **more: Any) -> Spec:
    steps = {} if step is None else {"step": step}
    return ("INT", {"default": default, "min": least, "max": most, **steps, **more})


def real(default: float, least: float, most: float, step: float, **more: Any) -> Spec:
    return ("FLOAT", {"default": default, "min": least, "max": most, "step": step, **more})


def text(default: str | None = None, *, multiline: bool = False, **more: Any) -> Spec:
    return ("STRING", {**more, **({} if default is None else {"default": default}), "multiline": multiline})


def toggle(default: bool, **more: Any) -> Spec:
    return ("BOOLEAN", {"default": default, **more})


def choice(*options: str, **more: Any) -> Spec:
    return ("COMBO", {"multiselect": False, "options": list(options), **more})


def side(default: int = 512, least: int = 1, step: int = 1) -> Spec:
    return integer(default, least, SIDE_MAX_PX, step)
