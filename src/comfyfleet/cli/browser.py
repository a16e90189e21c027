"""Opens a page in the browser of whoever sits at this terminal, where there is one."""

import os
import sys
import webbrowser


def open_in_browser(url: str) -> bool:
    """False: there is none, as on a server that is reached by SSH. A browser in the terminal itself is no help."""
    wanted = any(os.environ.get(name) for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"))
    if sys.platform.startswith("linux") and not wanted:
        return False
    try:
        return webbrowser.open(url)
    except webbrowser.Error:
        return False
