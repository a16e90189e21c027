"""How a server is given to a pool: its URL, a connector, or either of them with a name and a depth of its own."""

from dataclasses import dataclass
from typing import TypeAlias

from comfyfleet.comfy.connector import Connector
from comfyfleet.comfy.self_hosted import SelfHosted

DEPTH = 2  # one runs, one waits behind it: the server never waits for us


@dataclass(frozen=True, slots=True)
class Server:
    """`depth`: how many prompts of ours it may have at once, the running one included."""

    connector: Connector | str
    name: str | None = None
    depth: int | None = None


GivenServer: TypeAlias = Server | Connector | str


@dataclass(frozen=True, slots=True)
class NamedServer:
    connector: Connector
    name: str
    depth: int


def open_server(given: GivenServer, *, depth: int) -> NamedServer:
    """A URL becomes a connector here; from now on it is the pool's to close."""
    server = given if isinstance(given, Server) else Server(given)
    chosen = depth if server.depth is None else server.depth
    if chosen < 1:
        raise ValueError(f"depth must be at least 1, got {chosen}")
    connector = SelfHosted(server.connector) if isinstance(server.connector, str) else server.connector
    return NamedServer(connector, server.name or connector.name, chosen)
