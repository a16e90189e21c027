"""Secrets that are shown once: printed to a terminal, else written to a private file.

Output that goes nowhere near a terminal is kept: by systemd's journal, a container's log, the file behind a pipe.
`--json` prints the secret all the same: a program asks for it.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from comfyfleet.cli.late import Late
from comfyfleet.cli.output import print_one, print_sentence

if TYPE_CHECKING:
    from comfyfleet import bootstrap, settings
    from comfyfleet.settings import Settings
else:
    bootstrap = Late("comfyfleet.bootstrap")
    settings = Late("comfyfleet.settings")

FOLDER = "shown-once"
KEPT_DAYS = 7


def on_terminal() -> bool:
    return sys.stdout.isatty()


def require_place(loaded: Settings) -> None:
    """Before the secret is made: what cannot be shown must not exist."""
    if not on_terminal():
        folder = loaded.home / FOLDER
        bootstrap.make_private_folder(loaded.home)
        bootstrap.make_private_folder(folder)
        if not os.access(folder, os.W_OK | os.X_OK):
            problem = f"home: cannot write into {folder}, where the secret would go as the output is no terminal"
            raise settings.SettingsError([f"{problem}; use a terminal or --json"])


def print_secret(row: Any, *, as_json: bool, sentence: str, file: str, **secret: str) -> None:
    """One new thing with its secret. `file`: the name of the private file, where there is no terminal."""
    if as_json or on_terminal():
        print_one(row, as_json=as_json, sentence=sentence, **secret)
        return
    print_sentence(sentence)
    tell_file(keep_secret("\n".join(secret.values()), file))


def keep_secret(text: str, file: str) -> Path:
    folder = settings.load_settings().home.resolve() / FOLDER
    _remove_old(folder)
    path = folder / re.sub(r"[^\w.@-]", "_", file)
    bootstrap.write_private_file(path, text + "\n")
    return path


def tell_file(path: Path) -> None:
    typer.echo(f"It is not printed: the output is no terminal. {path} has it; only you can read that file.")
    typer.echo(f"To see it:    {show_command(path)}")
    typer.echo(f"Then remove:  rm {shlex.quote(str(path))}    (--json prints the secret instead, for a program)")


def show_command(path: Path) -> str:
    return f"cat {shlex.quote(str(path))}"


def _remove_old(folder: Path) -> None:
    for each in folder.iterdir():
        with suppress(OSError):  # another command has removed it
            if time.time() - each.stat().st_mtime > KEPT_DAYS * 86_400:
                each.unlink()
