"""Paths of our machines in texts that users read: the last part is enough for them."""

import re

# Two folders and more, of Unix or Windows; not what stands behind a word or a colon, as in a URL.
_PATH = re.compile(r"""(?<![\w:/\\.])(?:[A-Za-z]:[\\/]|~?/)(?:[^\s/\\'"<>|:;,()]+[/\\])+""")


def without_folders(text: str) -> str:
    """`/opt/comfy/models/x.safetensors` becomes `…/x.safetensors`."""
    return _PATH.sub("…/", text) if "/" in text or "\\" in text else text
