"""Links that log in once, for whoever sits at the terminal: into the studio, and into the console."""

import secrets
from dataclasses import dataclass

from comfyfleet.api.passes import Passes
from comfyfleet.audit import Action, Actor, record_action
from comfyfleet.bootstrap import OPERATOR_EMAIL
from comfyfleet.demo.seed import EMAIL
from comfyfleet.house import House
from comfyfleet.kernel.errors import NotFound
from comfyfleet.kernel.secret import Secret
from comfyfleet.tenants import credentials, find_user

PASSWORD_BYTES = 24


@dataclass(frozen=True, slots=True)
class Doors:
    """What stands behind the address. `studio`: none where there is no demo."""

    console: str
    studio: str | None = None


async def open_doors(house: House, passes: Passes, actor: Actor, *, demo: bool) -> Doors:
    await _ensure_login(house, actor)
    return Doors(_link(passes, OPERATOR_EMAIL), _link(passes, EMAIL) if demo else None)


def _link(passes: Passes, email: str) -> str:
    # Behind '#': browsers do not send that part, so no access log ever holds it.
    return f"/enter#token={passes.mint(email).reveal()}"


async def _ensure_login(house: House, actor: Actor) -> None:
    """A session needs a user who has a password; the one that is set here nobody knows. `comfyfleet users set-password`
    sets another."""
    async with house.control_tx(read_only=True) as tx:
        login = await credentials.find_login(tx, OPERATOR_EMAIL)
    if login is None or login.password_hash is not None:
        return
    password_hash = await credentials.hash_password(Secret(secrets.token_urlsafe(PASSWORD_BYTES)))
    async with house.control_tx() as tx:
        try:
            user = await find_user(tx, OPERATOR_EMAIL)
        except NotFound:
            return
        await credentials.replace_password(tx, user, password_hash=password_hash)
        action = Action("user.set_password", str(user.id), {"email": OPERATOR_EMAIL})
        await record_action(tx, actor, action, signer=house.chain)
