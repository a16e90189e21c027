"""What of ours a server has in its input folder. Skeleton: the names stand, the work follows."""

from collections.abc import Iterable, Mapping
from pathlib import Path

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.model import NodeError
from comfyfleet.worker.prepare import Asset, Mark


class ServerInputs:
    """One per server. Hashed assets once, under `comfyfleet/cache`; a user's own under the attempt's mark."""

    def __init__(self, connector: Connector, *, comfyui_dir: Path | None = None, cache_bytes_max: int) -> None: ...

    async def place(self, assets: Iterable[Asset], paths: Mapping[str, Path], mark: Mark) -> dict[str, str]:
        """What the server calls each asset: for `prepare_graph`. In use until `release(mark)`."""
        raise NotImplementedError

    def forget_missing(self, node_errors: Iterable[NodeError], names: Mapping[str, str]) -> bool:
        """The server refused a prompt: is it because files of ours are gone? Then place again, and submit again."""
        raise NotImplementedError

    def forget(self) -> None:
        """It may have come back with an empty disk."""

    async def release(self, mark: Mark) -> None: ...
