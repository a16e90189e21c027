"""What every job of this worker uses."""

from dataclasses import dataclass, field

from comfyfleet.worker.assets import AssetCache
from comfyfleet.worker.clean import WorkFolders
from comfyfleet.worker.control import ControlClient
from comfyfleet.worker.events import Reporter
from comfyfleet.worker.job_trace import WorkerSpans
from comfyfleet.worker.journal import Journal
from comfyfleet.worker.kept_node_times import KeptNodeTimes
from comfyfleet.worker.leases import LeaseBook
from comfyfleet.worker.servers import Servers
from comfyfleet.worker.telemetry import Telemetry
from comfyfleet.worker.transfer import Transfer


@dataclass(frozen=True, slots=True)
class Tools:
    control: ControlClient
    journal: Journal
    book: LeaseBook
    servers: Servers
    cache: AssetCache
    transfer: Transfer
    folders: WorkFolders
    reporter: Reporter
    telemetry: Telemetry
    node_times: KeptNodeTimes
    spans: WorkerSpans = field(default_factory=WorkerSpans)
