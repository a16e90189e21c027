"""What `comfyfleet up` sets up on its first start: a fleet for its worker, and a demo tenant with the effects that its
server can run and a pipeline of three of them.

Every step finds what an earlier start has made, so a start that was cut short is finished by the next one.
"""

import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files

import structlog

from comfyfleet import fleet, ledger, pipelines, tenants, workflows
from comfyfleet.audit import Action, Actor, record_action
from comfyfleet.db import ControlTx
from comfyfleet.demo.catalogue import DemoEffect
from comfyfleet.house import House
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound
from comfyfleet.kernel.page import PageRequest
from comfyfleet.kernel.secret import Secret
from comfyfleet.ledger import Tokens
from comfyfleet.pipelines.written import read_written
from comfyfleet.tenants import Role, Tenant, User, credentials
from comfyfleet.tenants.model import SCOPES
from comfyfleet.workflows import Workflow, effects
from comfyfleet.workflows.effects import NewEffect

FLEET, STAGE = "demo", "default"
TENANT = "demo"
EMAIL = "demo@localhost"
TOKENS = Tokens(1000)
CREDIT_ID = "demo-welcome"
PASSWORD_BYTES = 12
PIPELINE = "pipeline.yaml"
STOCK_PIPELINE = "stock-pipeline.yaml"

log = structlog.get_logger()


def example_pipeline(name: str = PIPELINE) -> str:
    return files("comfyfleet.demo").joinpath(name).read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class DemoUser:
    user: User
    password: Secret


@dataclass(frozen=True, slots=True)
class Seeder:
    """Writes with one actor's name on everything."""

    house: House
    actor: Actor

    async def is_wanted(self) -> bool:
        """A home that others have moved into needs no demo; one whose demo was begun gets the rest of it."""
        async with self.house.control_tx(read_only=True) as tx:
            page = await tenants.list_tenants(tx, PageRequest(rows=1))
            if not page.rows:
                return True
            try:
                await tenants.find_tenant(tx, TENANT)
            except NotFound:
                return False
            return True

    async def make_fleet_secret(self) -> Secret:
        async with self.house.control_tx() as tx:
            own = await fleet.find_fleet(tx, FLEET, STAGE)
            made, secret = await fleet.make_fleet_secret(tx, name="made by comfyfleet up", fleet_id=own.id)
            await self._record(tx, "fleet_secret.create", made.id, named=made.name, fleet=made.fleet)
        return secret

    async def ensure_fleet(self) -> None:
        async with self.house.control_tx() as tx:
            try:
                await fleet.create_fleet(tx, slug=FLEET, stage=STAGE, name="Demo")
            except AlreadyExists:
                return
            await self._record(tx, "fleet.create", f"{FLEET}/{STAGE}")

    async def ensure_effects(self, chosen: Sequence[DemoEffect]) -> None:
        for effect in chosen:
            await self._ensure_workflow(effect)
            await self._ensure_effect(effect)

    async def ensure_user(self) -> DemoUser:
        tenant = await self._ensure_tenant()
        made = await self._ensure_user(tenant)
        async with self.house.tenant_tx(tenant) as tx:
            await ledger.credit_on_record(
                tx,
                made.user.id,
                TOKENS,
                provider_transaction_id=CREDIT_ID,
                actor=self.actor,
                signer=self.house.chain,
            )
        return made

    async def ensure_pipelines(self) -> None:
        """Those whose effects are here, each once: what somebody has changed or archived since stays as it is."""
        for name in (PIPELINE, STOCK_PIPELINE):
            await self._ensure_pipeline(name)

    async def _ensure_pipeline(self, name: str) -> None:
        new = pipelines.parse_pipeline(read_written(example_pipeline(name), name).said)
        async with self.house.control_tx(read_only=True) as tx:
            try:
                tenant = await tenants.find_tenant(tx, TENANT)
                user = await tenants.find_user(tx, EMAIL)
            except NotFound:
                return
            offers = await effects.take_offers(tx, {step.effect for step in new.steps})
        if any(isinstance(each, NotFound) for each in offers.values()):
            return
        async with self.house.tenant_tx(tenant) as tx:
            if (await pipelines.list_pipelines(tx, PageRequest(rows=1), slug=new.slug)).rows:
                return
            try:
                await pipelines.apply_pipeline(tx, new, user_id=user.id, offers=offers)
            except InvalidInput as problem:
                # An effect of the demo was taken out: so there is no example of it.
                log.warning("demo.no_pipeline", problem=problem.message)

    async def make_key(self, user: User) -> Secret:
        async with self.house.control_tx() as tx:
            made = await credentials.create_key(tx, user, name="made by comfyfleet up", scopes=SCOPES[user.role])
            await self._record(tx, "key.create", made.key.id, email=user.email, scopes=sorted(made.key.scopes))
        return made.secret

    async def _ensure_tenant(self) -> Tenant:
        async with self.house.control_tx() as tx:
            try:
                return await tenants.find_tenant(tx, TENANT)
            except NotFound:
                pool = self.house.default_pool
                made = await tenants.create_tenant(tx, slug=TENANT, name="Demo", pool=pool, weight=1)
                await self._record(tx, "tenant.create", made.id, slug=TENANT, pool=pool, weight=1)
                return made

    async def _ensure_user(self, tenant: Tenant) -> DemoUser:
        password = Secret(secrets.token_urlsafe(PASSWORD_BYTES))
        password_hash = await credentials.hash_password(password)
        async with self.house.control_tx() as tx:
            try:
                # Made by a start that was cut short: nobody was told the password.
                user = await tenants.find_user(tx, EMAIL)
                await credentials.replace_password(tx, user, password_hash=password_hash)
                await self._record(tx, "user.set_password", user.id, email=EMAIL)
            except NotFound:
                user = await tenants.create_user(
                    tx, email=EMAIL, role=Role.ADMIN, tenant_id=tenant.id, password_hash=password_hash
                )
                await self._record(tx, "user.create", user.id, email=EMAIL, role=Role.ADMIN, tenant_id=tenant.id)
        return DemoUser(user, password)

    async def _ensure_workflow(self, effect: DemoEffect) -> None:
        text, parsed = workflows.read_graph_text(effect.graph())
        new = workflows.prepare_version(
            text,
            properties=effect.properties,
            output_node=workflows.propose_output_node(parsed),
            expected_s=effect.expected_s,
            note="made by comfyfleet up",
        )
        try:
            await workflows.publish_workflow(
                self.house.store,
                self.house.control_tx,
                new,
                slug=effect.workflow,
                name=effect.name,
                record=self._record_workflow,
            )
        except AlreadyExists:
            log.debug("demo.workflow_known", workflow=effect.workflow)
        async with self.house.control_tx() as tx:
            found = await workflows.find_workflow(tx, effect.workflow)
            home = await fleet.find_fleet(tx, FLEET, STAGE)
            await fleet.assign_workflow(tx, home.id, found.id, is_active=True)
            await self._record(tx, "fleet.assign", f"{FLEET}/{STAGE}", workflow=effect.workflow)

    async def _ensure_effect(self, effect: DemoEffect) -> None:
        new = NewEffect(effect.slug, effect.name, effect.description, {}, effect.credits_cost)
        async with self.house.control_tx() as tx:
            try:
                await effects.add_effect(tx, new, workflow=effect.workflow)
            except AlreadyExists:
                return
            await self._record(
                tx, "effect.add", effect.slug, workflow=effect.workflow, credits_cost=effect.credits_cost
            )
            await effects.publish_effect(tx, effect.slug)
            await self._record(tx, "effect.publish", effect.slug)

    async def _record_workflow(self, tx: ControlTx, made: Workflow) -> None:
        await self._record(tx, "workflow.add", made.slug, structure_hash=made.structure_hash, version=made.version)

    async def _record(self, tx: ControlTx, name: str, subject: object, **detail: object) -> None:
        await record_action(tx, self.actor, Action(name, str(subject), detail), signer=self.house.chain)
