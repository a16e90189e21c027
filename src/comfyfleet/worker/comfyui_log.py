"""What an owned ComfyUI writes, passed on into our log line by line, and its file kept small."""

import asyncio
import re
from pathlib import Path

import structlog

READ_BYTES = 256 * 1024
LINE_CHARS_MAX = 2000
FILE_BYTES_MAX = 32 * 1024**2
EVERY_S = 0.5
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")

log = structlog.get_logger()


class ComfyuiLog:
    """Bars of progress write a line over itself a hundred times: only what stood there at last is told."""

    def __init__(self, path: Path, *, server: str) -> None:
        self._path = path
        self._server = server
        self._read_bytes = path.stat().st_size if path.exists() else 0
        self._rest = b""

    async def follow(self) -> None:
        """Until it is cancelled; then what is left."""
        try:
            while True:
                more = self.pass_on()
                await asyncio.sleep(0 if more else EVERY_S)
        finally:
            self.pass_on()

    def pass_on(self) -> bool:
        """One piece; False: there is no more at present."""
        try:
            with self._path.open("rb") as file:
                file.seek(self._read_bytes)
                new = file.read(READ_BYTES)
        except OSError:
            return False
        self._read_bytes += len(new)
        *lines, self._rest = (self._rest + new).split(b"\n")
        self._rest = self._rest[-READ_BYTES:]
        for line in lines:
            self._tell(line)
        if not new and self._read_bytes > FILE_BYTES_MAX:
            self._start_over()
        return bool(new)

    def _tell(self, line: bytes) -> None:
        text = line.rstrip(b"\r").rpartition(b"\r")[2].decode("utf-8", "replace")
        text = COLOURS.sub("", text).rstrip()
        if text:
            log.info("comfyui.said", server=self._server, line=text[:LINE_CHARS_MAX])

    def _start_over(self) -> None:
        """It was opened for appending: its writer goes on at the new end."""
        with self._path.open("r+b") as file:
            file.truncate(0)
        self._read_bytes = 0
