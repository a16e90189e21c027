"""What workers call: plain ASGI and msgspec, for these routes carry the load of the fleet."""

from comfyfleet.api.worker.endpoints import ENDPOINTS, WorkerEndpoints

__all__ = ["ENDPOINTS", "WorkerEndpoints"]
