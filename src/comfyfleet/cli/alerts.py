"""`comfyfleet alerts`"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from comfyfleet.cli.choices import AlertStateChoice
from comfyfleet.cli.late import Late
from comfyfleet.cli.output import AsJson, plain, print_json
from comfyfleet.cli.running import in_house
from comfyfleet.cli.tables import ago, print_table

if TYPE_CHECKING:
    from comfyfleet import notifications
    from comfyfleet.house import House
    from comfyfleet.notifications import Alert
else:
    notifications = Late("comfyfleet.notifications")

app = typer.Typer()


@app.command("list")
def list_all(
    state: Annotated[AlertStateChoice | None, typer.Option(help="Only in this state. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """List the alerts that changed last, at most 200."""

    async def work(house: House) -> list[Alert]:
        states = list(notifications.AlertState) if state is None else [notifications.AlertState(state)]
        async with house.control_tx(read_only=True) as tx:
            return await notifications.list_alerts(tx, states=states)

    found = in_house(work)
    if as_json:
        print_json([{**plain(each), "severity": each.about.severity, "runbook": each.about.runbook} for each in found])
        return
    columns = {
        "state": lambda each: each.state,
        "condition": lambda each: each.condition,
        "about": lambda each: each.subject,
        "since": lambda each: ago(each.began_at),
        "value": lambda each: each.text,
        "runbook": lambda each: each.about.runbook,
    }
    print_table("Alerts", found, columns)
