"""Where operators are notified. What an operator does here is told once, with its line of the audit log: the command
line and HTTP call the same verbs."""

import base64
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from comfyfleet.audit import Action, Actor, ChainSigner, record_action
from comfyfleet.db import ControlTx
from comfyfleet.kernel.errors import AlreadyExists, InvalidInput, NotFound, Refused
from comfyfleet.kernel.ids import ChannelId, NotificationId
from comfyfleet.kernel.secret import Secret
from comfyfleet.notifications import sql
from comfyfleet.notifications.alerts import add_notification
from comfyfleet.notifications.message import channel_test_payload
from comfyfleet.notifications.model import Channel, ChannelKind, NotificationKind
from comfyfleet.webhooks import check_url
from comfyfleet.webhooks.addresses import AddressNotPublic, Network, require_reachable

CHANNELS_MAX = 20
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9 ._-]{0,63}")
MAIL_ADDRESS = re.compile(r"[^\s@,<>\"]+@[^\s@,<>\"]+")
MAIL_ADDRESSES_MAX = 20
TARGET_CHARS_MAX = 2_000
SECRET_BYTES = 24


class TooManyChannels(Refused):
    """There are as many notification channels as there may be."""

    code = "too_many_channels"
    text = "There are {channels_max} notification channels already. Delete one first."

    def __init__(self) -> None:
        super().__init__(channels_max=CHANNELS_MAX)


class MailNotConfigured(Refused):
    """A channel by mail needs a mail server."""

    code = "mail_not_configured"
    text = "No mail server is configured, so nothing can be sent by mail. Set COMFYFLEET_SMTP_URL, or use a webhook."


class ChannelNotPublic(Refused):
    """A channel's URL names an address that is not public, and no setting allows it."""

    code = "channel_not_public"
    text = (
        "{host} is not a public address. Give one that is, or allow its network in COMFYFLEET_NOTIFICATION_NETWORKS, "
        "such as 10.0.0.0/8."
    )

    def __init__(self, host: str) -> None:
        super().__init__(host=host)


@dataclass(frozen=True, slots=True)
class ChannelRules:
    """`networks`: that channels may reach although they are not public. `public_url`: for links in messages."""

    networks: Sequence[Network] = ()
    has_mail: bool = False
    public_url: str = ""


@dataclass(frozen=True, slots=True)
class NewChannel:
    name: str
    kind: ChannelKind
    target: str
    only_pages: bool = False


@dataclass(frozen=True, slots=True)
class ActingOperator:
    """Who acts, and the key of the chain that it is written into."""

    actor: Actor
    signer: ChainSigner


async def create_channel(tx: ControlTx, new: NewChannel, *, rules: ChannelRules, by: ActingOperator) -> Channel:
    """Of a webhook the channel has a new secret, by which its receiver verifies what comes."""
    if not NAME.fullmatch(new.name):
        raise InvalidInput("name", "use 1 to 64 letters, digits, spaces and . _ -, and begin with a letter or digit")
    target = _check_target(new, rules)
    if len(await list_channels(tx)) >= CHANNELS_MAX:
        raise TooManyChannels
    secret = _new_secret() if new.kind is ChannelKind.WEBHOOK else None
    row = await tx.maybe(
        sql.insert_channel(
            name=new.name,
            kind=new.kind.value,
            target=target,
            secret=secret.reveal() if secret is not None else None,
            only_pages=new.only_pages,
        )
    )
    if row is None:
        raise AlreadyExists("notification channel", new.name)
    await _record(tx, by, "create", Channel.from_row(row), kind=new.kind.value, only_pages=new.only_pages)
    return Channel.from_row(row)


async def list_channels(tx: ControlTx) -> list[Channel]:
    return [Channel.from_row(row) for row in await tx.all(sql.all_channels())]


async def find_channel(tx: ControlTx, channel_id: ChannelId) -> Channel:
    row = await tx.maybe(sql.channel(channel_id))
    if row is None:
        raise NotFound("notification channel", channel_id)
    return Channel.from_row(row)


async def find_channel_named(tx: ControlTx, name: str) -> Channel:
    row = await tx.maybe(sql.channel_named(name))
    if row is None:
        raise NotFound("notification channel", name)
    return Channel.from_row(row)


async def enable_channel(tx: ControlTx, channel: Channel, *, by: ActingOperator) -> Channel:
    changed = await _change(tx, channel, is_active=True, disabled_reason=None)
    await _record(tx, by, "enable", changed)
    return changed


async def disable_channel(tx: ControlTx, channel: Channel, *, by: ActingOperator) -> Channel:
    """What waits for it is dropped."""
    changed = await _change(tx, channel, is_active=False, disabled_reason=None)
    await tx.run(sql.drop_waiting(channel.id))
    await _record(tx, by, "disable", changed)
    return changed


async def delete_channel(tx: ControlTx, channel: Channel, *, by: ActingOperator) -> None:
    """What waits for it is dropped; what was sent stays in the log."""
    if await tx.run(sql.delete_channel(channel.id)) == 0:
        raise NotFound("notification channel", channel.id)
    await tx.run(sql.drop_waiting(channel.id))
    await _record(tx, by, "delete", channel)


async def send_channel_test(
    tx: ControlTx, channel: Channel, *, rules: ChannelRules, by: ActingOperator
) -> NotificationId:
    """A message that says that it is a test. The log shows what became of it."""
    if not channel.is_active:
        raise InvalidInput("channel", f"{channel.name} is off; enable it first")
    at: datetime = (await tx.one(sql.time_now())).at
    payload = channel_test_payload(channel, at=at, public_url=rules.public_url)
    sent = await add_notification(tx, channel, NotificationKind.TEST, payload)
    await _record(tx, by, "test", channel)
    return sent


async def switch_off_gone(tx: ControlTx, channel_id: ChannelId, reason: str) -> None:
    """Its receiver said that it is gone: nothing is sent there until an operator enables it."""
    await tx.maybe(sql.change_channel(channel_id, {"is_active": False, "disabled_reason": reason}))
    await tx.run(sql.drop_waiting(channel_id))


async def _change(tx: ControlTx, channel: Channel, **values: object) -> Channel:
    row = await tx.maybe(sql.change_channel(channel.id, values))
    if row is None:
        raise NotFound("notification channel", channel.id)
    return Channel.from_row(row)


def _check_target(new: NewChannel, rules: ChannelRules) -> str:
    if len(new.target) > TARGET_CHARS_MAX:
        raise InvalidInput("target", f"has {len(new.target)} characters; at most {TARGET_CHARS_MAX} are allowed")
    if new.kind is ChannelKind.MAIL:
        return _check_addresses(new.target, rules)
    try:
        require_reachable(check_url(new.target, field="target"), allowed=rules.networks)
    except AddressNotPublic as refused:
        raise ChannelNotPublic(refused.facts["host"]) from None
    return new.target


def _check_addresses(target: str, rules: ChannelRules) -> str:
    found = [each.strip() for each in target.split(",") if each.strip()]
    wrong = next((each for each in found if not MAIL_ADDRESS.fullmatch(each) or not each.isprintable()), None)
    if not found or wrong is not None:
        said = "is empty" if wrong is None else f"{wrong!r} is no mail address"
        raise InvalidInput("target", f"{said}; write one such as ops@example.com, several with commas")
    if len(found) > MAIL_ADDRESSES_MAX:
        raise InvalidInput("target", f"names {len(found)} addresses; at most {MAIL_ADDRESSES_MAX} are allowed")
    if not rules.has_mail:
        raise MailNotConfigured
    return ", ".join(found)


async def _record(tx: ControlTx, by: ActingOperator, verb: str, channel: Channel, **detail: object) -> None:
    """Without the target: a chat's URL is its secret."""
    action = Action(f"notification_channel.{verb}", str(channel.id), {"name": channel.name, **detail})
    await record_action(tx, by.actor, action, signer=by.signer)


def _new_secret() -> Secret:
    """As the Standard Webhooks write it."""
    return Secret("whsec_" + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode())
