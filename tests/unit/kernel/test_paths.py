"""Paths of servers in texts for users."""

import pytest

from comfyfleet.kernel.paths import without_folders


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Loading /opt/comfy/models/x.safetensors now", "Loading …/x.safetensors now"),
        ('File "/home/ann/ComfyUI/execution.py", line 3', 'File "…/execution.py", line 3'),
        (r"C:\\Users\\ann\\ComfyUI\\out.png", "…/out.png"),
        ("~/ComfyUI/models/a.pt", "…/a.pt"),
        ("see https://example.com/docs/page", "see https://example.com/docs/page"),
        ("step 3/20 and 1/2", "step 3/20 and 1/2"),
        ("no path here", "no path here"),
    ],
)
def test_only_the_last_part_of_a_path_is_left(text: str, shown: str) -> None:
    assert without_folders(text.replace("\\\\", "\\")) == shown
