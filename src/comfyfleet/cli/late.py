"""Modules that load when a command runs, so that help and shell completion do not pay for them."""

from importlib import import_module
from typing import Any


class Late:
    """Stands for a module; the first name asked of it imports it.

    A command module names the real module under TYPE_CHECKING and a `Late` otherwise:
    mypy sees the types, and `comfyfleet workers --help` loads neither SQLAlchemy nor the control plane.
    """

    def __init__(self, module: str) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._module), name)
