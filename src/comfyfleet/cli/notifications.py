"""`comfyfleet notifications`"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

import typer

from comfyfleet.cli.acting import os_user
from comfyfleet.cli.choices import ChannelKindChoice
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json, print_sentence
from comfyfleet.cli.running import in_house
from comfyfleet.cli.shown_once import print_secret
from comfyfleet.cli.tables import ago, print_table
from comfyfleet.kernel.page import PAGE_ROWS_MAX, PageRequest

if TYPE_CHECKING:
    from comfyfleet import notifications
    from comfyfleet.db import ControlTx
    from comfyfleet.house import House
    from comfyfleet.notifications import ActingOperator, Channel, Notification
else:
    notifications = Late("comfyfleet.notifications")

app = typer.Typer()

Name = Annotated[str, typer.Argument(metavar="CHANNEL", help="Name of the channel, as listed.")]
HIDDEN = ("secret", "target")


@app.command("create-channel")
def create_channel(
    name: Annotated[str, typer.Argument(metavar="CHANNEL", help="A name for it, such as pager.")],
    target: Annotated[str, typer.Argument(help="URL of a webhook, or mail addresses with commas.")],
    kind: Annotated[ChannelKindChoice, typer.Option(help="How it is reached.")] = "webhook",
    only_pages: Annotated[bool, typer.Option("--only-pages", help="No tickets, such as a disk that fills.")] = False,
    as_json: AsJson = False,
) -> None:
    """Send the changes of alerts to a webhook or by mail.

    A webhook's secret, by which its receiver verifies what comes, is shown once.
    """

    async def work(house: House) -> Channel:
        new = notifications.NewChannel(name, notifications.ChannelKind(kind), target, only_pages)
        async with house.control_tx() as tx:
            return await notifications.create_channel(tx, new, rules=house.channel_rules, by=_by(house))

    made = in_house(work, makes_secret=kind == "webhook" and not as_json)
    if as_json:
        print_json({**_shown(made), "secret": made.secret.reveal() if made.secret is not None else None})
    elif made.secret is None:
        print_sentence(f"Channel {name} is there. Try it: comfyfleet notifications check-channel {name}")
    else:
        sentence = f"Channel {name} is there; this secret verifies what it sends, and is not shown again:"
        print_secret(made, as_json=False, sentence=sentence, file=f"channel-{name}", secret=made.secret.reveal())


@app.command("list-channels")
def list_channels(as_json: AsJson = False) -> None:
    """List where operators are notified."""

    async def work(house: House) -> list[Channel]:
        async with house.control_tx(read_only=True) as tx:
            return await notifications.list_channels(tx)

    found = in_house(work)
    if as_json:
        print_json([_shown(each) for each in found])
        return
    columns = {
        "channel": lambda each: each.name,
        "by": lambda each: each.kind,
        "to": lambda each: each.shown_target,
        "hears of": lambda each: "pages" if each.only_pages else "pages and tickets",
        "state": lambda each: "on" if each.is_active else f"off {each.disabled_reason or ''}",
    }
    print_table("Notification channels", found, columns)


@app.command("enable-channel")
def enable_channel(name: Name, as_json: AsJson = False) -> None:
    """Send to a channel again, from the next change of an alert on."""
    done = _with_channel(name, lambda tx, found, by: notifications.enable_channel(tx, found, by=by))
    _print(done, as_json, f"Channel {name} is on.")


@app.command("disable-channel")
def disable_channel(name: Name, as_json: AsJson = False) -> None:
    """Send nothing to a channel; what waits for it is dropped."""
    done = _with_channel(name, lambda tx, found, by: notifications.disable_channel(tx, found, by=by))
    _print(done, as_json, f"Channel {name} is off.")


@app.command("delete-channel")
def delete_channel(name: Name, as_json: AsJson = False) -> None:
    """Delete a channel; what waits for it is dropped, and the log stays."""

    async def act(tx: ControlTx, found: Channel, by: ActingOperator) -> Channel:
        await notifications.delete_channel(tx, found, by=by)
        return found

    _print(_with_channel(name, act), as_json, f"Channel {name} is deleted.")


@app.command("check-channel")
def check_channel(name: Name, as_json: AsJson = False) -> None:
    """Send a test. The server sends it within seconds; `comfyfleet notifications list` shows what became of it."""

    async def work(house: House) -> str:
        async with house.control_tx() as tx:
            found = await notifications.find_channel_named(tx, name)
            rules = house.channel_rules
            return str(await notifications.send_channel_test(tx, found, rules=rules, by=_by(house)))

    sent = in_house(work)
    if as_json:
        print_json({"notification_id": sent})
    else:
        print_sentence(f"A test goes to {name}. See what becomes of it: comfyfleet notifications list")


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List the newest hundred notifications that were sent, and what became of each."""

    async def work(house: House) -> list[Notification]:
        async with house.control_tx(read_only=True) as tx:
            return (await notifications.list_notifications(tx, PageRequest(rows=PAGE_ROWS_MAX))).rows

    found = in_house(work)
    if as_json:
        print_json([plain(each) for each in found])
        return
    columns = {
        "when": lambda each: ago(each.created_at),
        "what": lambda each: each.kind,
        "condition": lambda each: each.condition,
        "about": lambda each: each.subject,
        "channel": lambda each: each.channel,
        "status": lambda each: each.status,
        "tries": lambda each: each.attempts,
        "error": lambda each: each.last_error,
    }
    print_table("Notifications", found, columns)


def _with_channel(name: str, act: Callable[[ControlTx, Channel, ActingOperator], Awaitable[Channel]]) -> Channel:
    async def work(house: House) -> Channel:
        async with house.control_tx() as tx:
            return await act(tx, await notifications.find_channel_named(tx, name), _by(house))

    return in_house(work)


def _by(house: House) -> ActingOperator:
    return notifications.ActingOperator(os_user(), house.chain)


def _print(channel: Channel, as_json: bool, sentence: str) -> None:
    if as_json:
        print_json(_shown(channel))
    else:
        print_sentence(sentence)


def _shown(channel: Channel) -> dict[str, object]:
    said = {name: value for name, value in plain(channel).items() if name not in HIDDEN}
    return {**said, "target": channel.shown_target}
