"""What a running control plane has: its databases, its object store, its keys. Built by `bootstrap`, used by edges."""

import base64
import hmac
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

import structlog

from comfyfleet.audit import ChainSigner
from comfyfleet.db import ControlTx, Database, PoolTx, TenantTx
from comfyfleet.desk import Desk
from comfyfleet.dispatch import Ended, FailureClass, LeaseSigner, QueueRules
from comfyfleet.fleet import FleetRules
from comfyfleet.jobs import JobRules
from comfyfleet.kernel.errors import DatabaseUnavailable, FleetError, Unavailable
from comfyfleet.kernel.ids import EffectId, TenantId
from comfyfleet.kernel.secret import Secret
from comfyfleet.live import Live
from comfyfleet.media.model import MediaRules
from comfyfleet.media.probe import Prober
from comfyfleet.metrics.facts import FactSink
from comfyfleet.notifications import ChannelRules
from comfyfleet.pipelines.count import make_all_due
from comfyfleet.pipelines.model import RUN_JOBS_PER_TENANT_MAX
from comfyfleet.pipelines.rules import RunRules
from comfyfleet.storage import ObjectStore
from comfyfleet.tenants import Home, Postbox, Tenant
from comfyfleet.tenants.credentials import LinkSigner
from comfyfleet.traces.control_plane import ControlPlaneSpans, TracedJob
from comfyfleet.webhooks.addresses import Network
from comfyfleet.workflows import FileInputs, ReportedFileInputs, Version, effects
from comfyfleet.workflows.effects import ListedOffer, Offer

log = structlog.get_logger()


@dataclass(frozen=True)
class House:
    central: Database
    pools: dict[str, Database]
    default_pool: str
    store: ObjectStore
    links: LinkSigner
    postbox: Postbox | None
    desk: Desk
    live: Live
    leases: LeaseSigner
    chain: ChainSigner
    queue_rules: QueueRules = field(default_factory=QueueRules)
    fleet_rules: FleetRules = field(default_factory=FleetRules)
    job_rules: JobRules = field(default_factory=JobRules)
    storage_bytes_max: int | None = None  # of a tenant, where operators have not said otherwise
    run_jobs_per_tenant_max: int = RUN_JOBS_PER_TENANT_MAX
    file_inputs: ReportedFileInputs = field(default_factory=ReportedFileInputs)
    traces: ControlPlaneSpans = field(default_factory=ControlPlaneSpans)
    notification_networks: Sequence[Network] = ()  # that operators' webhooks may reach although they are not public
    prober: Prober = field(default_factory=lambda: Prober(MediaRules()))

    @property
    def facts(self) -> FactSink:
        """What happened in this process, for whoever counts."""
        return self.desk.facts

    def control_tx(self, *, read_only: bool = False) -> AbstractAsyncContextManager[ControlTx]:
        return self.central.control_tx(read_only=read_only)

    def queue_tx(self) -> AbstractAsyncContextManager[ControlTx]:
        """On the desk's own connections, where the statements of the queue are planned once."""
        return self.desk.control_tx()

    def tenant_tx(self, home: Home | Tenant, *, read_only: bool = False) -> AbstractAsyncContextManager[TenantTx]:
        """On the pool the tenant is placed in, bound to that tenant."""
        tenant_id = home.tenant_id if isinstance(home, Home) else home.id
        return self.pool(home.pool).tenant_tx(tenant_id, read_only=read_only)

    def pool_tx(self, name: str, *, read_only: bool = False) -> AbstractAsyncContextManager[PoolTx]:
        """Over all tenants of one pool: for what carries rows between the databases, and for the audit."""
        return self.pool(name).pool_tx(read_only=read_only)

    def pool(self, name: str) -> Database:
        if name not in self.pools:
            # A tenant placed in a pool that the settings no longer name.
            raise DatabaseUnavailable(name)
        return self.pools[name]

    def taken_back(self, ended: Collection[Ended]) -> None:
        """Leases that were taken from their worker, after the commit: whoever waits, settles or follows a trace."""
        self.desk.taken_back(ended)
        self.trace_lost(ended)

    def trace_lost(self, ended: Collection[Ended]) -> None:
        """Attempts that their worker did not end."""
        for each in (found.attempt for found in ended if found.attempt is not None):
            self.traces.attempt_ended(
                TracedJob(each.traceparent, each.dispatch_id, each.tenant_id, each.workflow_id),
                each.error_class or FailureClass.INTERRUPTED.value,
                epoch=each.epoch,
                leased_s=each.leased_s,
            )

    async def pause_runs_of(self, tenant: Tenant) -> None:
        """It was suspended: upkeep looks at its runs next, and pauses them. Where its pool is away, they pause when a
        job of theirs ends: in any case nothing is begun."""
        try:
            async with self.tenant_tx(tenant) as tx:
                await make_all_due(tx)
        except Unavailable as problem:
            log.warning("runs.not_paused_yet", tenant=tenant.slug, problem=problem.message)

    def quota_of(self, home: Home | Tenant) -> int | None:
        """How many bytes its files may have together; None: there is no limit."""
        return self.storage_bytes_max if home.storage_bytes_max is None else home.storage_bytes_max

    def webhook_secret(self, tenant_id: TenantId) -> Secret:
        """By which deliveries to the URLs of a tenant's jobs are signed; made when asked for, never kept."""
        facts = b"comfyfleet.webhook:" + tenant_id.bytes
        mac = hmac.digest(self.leases.signing_key.reveal().encode(), facts, "sha256")
        return Secret("whsec_" + base64.b64encode(mac).decode())

    async def take_runnable(self, tx: ControlTx, name: str | EffectId) -> tuple[Offer, Version]:
        """An effect to make a job of. Raises EffectUnavailable, also where no worker can run it."""
        return await effects.take_runnable(tx, name, self.desk.availability, rules=self.fleet_rules)

    async def take_runnables(self, tx: ControlTx, slugs: Collection[str]) -> dict[str, Offer | FleetError]:
        """Several; of each that cannot be used or run, why not."""
        return await effects.take_runnables(tx, slugs, self.desk.availability, rules=self.fleet_rules)

    async def reported_file_inputs(self) -> FileInputs:
        """By which inputs nodes open files: no text of a user may go there."""
        return await self.file_inputs.read(self.store, self.control_tx)

    async def show_availability(self, tx: ControlTx, offers: Sequence[Offer]) -> list[ListedOffer]:
        """With whether a worker can run each."""
        return await effects.show_availability(tx, offers, self.desk.availability, rules=self.fleet_rules)

    @property
    def run_rules(self) -> RunRules:
        return RunRules(self.run_jobs_per_tenant_max, self.job_rules)

    @property
    def channel_rules(self) -> ChannelRules:
        return ChannelRules(self.notification_networks, self.postbox is not None, self.links.public_url)

    def databases(self) -> list[Database]:
        return [self.central, *self.pools.values()]

    async def close(self) -> None:
        await self.store.close()
        await self.live.stop()
        await self.desk.close()
        for database in self.databases():
            await database.close()
