"""What a simulation needs of a control plane, made over its operators' and users' API: a fleet, a workflow that takes
its time, an effect with a price, tenants with users, tokens and keys."""

import secrets
from dataclasses import dataclass
from typing import Any

import httpx2

from comfyfleet.kernel.errors import Unavailable
from comfyfleet.simulate.plan import Plan

STAGE = "simulation"
ANSWER_WITHIN_S = 30.0
# What one user may have waiting; a tenant with more has more users.
JOBS_PER_USER = 5_000
PRICE = 1
GRAPH = {
    "sleep": {
        "class_type": "FleetSleep",
        "inputs": {"seconds": 1.0, "steps": 1, "seed": 0, "previews": False},
    },
    "save": {"class_type": "SaveImage", "inputs": {"images": ["sleep", 0], "filename_prefix": "simulated"}},
}
SECONDS = {
    "name": "seconds",
    "type": "number",
    "label": "Seconds",
    "default": 1.0,
    "minimum": 0.0,
    "maximum": 86400.0,
    "node": "sleep",
    "input_name": "seconds",
}


class StageRefused(Unavailable):
    """The control plane does not let itself be simulated upon."""

    code = "simulation_refused"
    text = "The control plane answered {status} to {method} {path}: {said}"


@dataclass(frozen=True, slots=True)
class User:
    tenant: str
    user_id: str
    key: str
    jobs: int


@dataclass(frozen=True, slots=True)
class Stage:
    """`mark` keeps one simulation's things from another's."""

    url: str
    mark: str
    fleet_secret: str
    users: tuple[User, ...]

    @property
    def fleet(self) -> str:
        return f"simulation-{self.mark}"

    @property
    def effect(self) -> str:
        return f"sleep-{self.mark}"


@dataclass(frozen=True, slots=True)
class _Operator:
    client: httpx2.AsyncClient

    async def ask(self, method: str, path: str, body: dict[str, Any], **more: Any) -> dict[str, Any]:
        answer = await self.client.request(method, path, json=body, **more)
        if not answer.is_success:
            raise StageRefused(status=answer.status_code, method=method, path=path, said=answer.text[:300])
        found: dict[str, Any] = answer.json()
        return found


async def set_stage(url: str, operator_key: str, plan: Plan) -> Stage:
    mark = secrets.token_hex(4)
    headers = {"Authorization": f"Bearer {operator_key}"}
    async with httpx2.AsyncClient(base_url=url, headers=headers, timeout=ANSWER_WITHIN_S) as client:
        operator = _Operator(client)
        await _make_effect(operator, mark, plan)
        opens = {"name": f"simulation {mark}", "fleet": f"simulation-{mark}/{STAGE}"}
        secret = await operator.ask("POST", "/api/admin/fleet-secrets", opens)
        users = []
        for tenant, jobs in plan.shares().items():
            users += await _make_tenant(operator, tenant, mark, jobs, url)
    return Stage(url, mark, secret["secret"], tuple(users))


async def _make_effect(operator: _Operator, mark: str, plan: Plan) -> None:
    slug = f"sleep-{mark}"
    workflow = {
        "slug": slug,
        "graph": GRAPH,
        "properties": [SECONDS],
        "output_node": "save",
        "expected_s": max(plan.run_s, 0.001),
        # What only sleeps needs nothing of its server.
        "requirements": {"node_classes": [], "weights": []},
    }
    await operator.ask("POST", "/api/admin/workflows", workflow)
    fleet = await operator.ask("POST", "/api/admin/fleets", {"slug": f"simulation-{mark}", "stage": STAGE})
    await operator.ask("PUT", f"/api/admin/fleets/{fleet['id']}/workflows/{slug}", {"is_active": True})
    await operator.ask("POST", "/api/admin/effects", {"slug": slug, "workflow": slug, "credits_cost": PRICE})
    await operator.ask("POST", f"/api/admin/effects/{slug}/publish", {})


async def _make_tenant(operator: _Operator, name: str, mark: str, jobs: int, url: str) -> list[User]:
    tenant = await operator.ask("POST", "/api/admin/tenants", {"slug": f"{name}-{mark}"})
    made = []
    for first in range(0, jobs, JOBS_PER_USER):
        count = min(JOBS_PER_USER, jobs - first)
        email = f"user-{first // JOBS_PER_USER}@{name}-{mark}.test"
        path = f"/api/admin/tenants/{tenant['id']}"
        invited = await operator.ask("POST", f"{path}/users", {"email": email, "role": "member"})
        user_id = invited["user"]["id"]
        credit = {"user_id": user_id, "amount": count * PRICE, "provider_transaction_id": email}
        await operator.ask("POST", f"{path}/credits", credit)
        made.append(User(name, user_id, await _make_key(url, email, invited["link"]), count))
    return made


async def _make_key(url: str, email: str, link: str | None) -> str:
    """As a person would: by the invitation's link, and a login."""
    if link is None:
        raise StageRefused(status=201, method="POST", path="users", said="it sends invitations by mail")
    password = secrets.token_urlsafe(16)
    async with httpx2.AsyncClient(base_url=url, timeout=ANSWER_WITHIN_S) as client:
        person = _Operator(client)
        await person.ask("POST", "/api/auth/password", {"token": link.partition("token=")[2], "password": password})
        login = await client.post("/api/auth/login", json={"email": email, "password": password})
        # By hand: a jar keeps a secure cookie from a plain connection, even to this very machine.
        cookie = login.headers.get("set-cookie", "").partition(";")[0]
        headers = {"Cookie": cookie, "Sec-Fetch-Site": "same-origin"}
        made = await person.ask("POST", "/api/keys", {"name": "simulation"}, headers=headers)
        return str(made["secret"])
