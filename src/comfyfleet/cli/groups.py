"""Groups of commands: `comfyfleet <nouns> <verb>`. Each group is loaded when it is called.

Help is written here, so that `comfyfleet --help` imports no group. Old spellings keep working:
they are in no help, and a line on stderr names the new one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_group


@dataclass(frozen=True)
class Group:
    module: str  # below this package; holds the group's `app`
    help: str
    old_verbs: Mapping[str, str] = field(default_factory=dict)  # old spelling → new


GROUPS = {
    "db": Group("database", "Schema of the central database and all pools.", {"current": "show"}),
    "tenants": Group("tenants", "Tenants: who shares this installation."),
    "users": Group(
        "users",
        "Users of tenants, and operators of the installation.",
        {"passwd": "set-password", "reset-link": "create-link"},
    ),
    "keys": Group("keys", "API keys."),
    "wallets": Group("wallets", "Token wallets."),
    "fleets": Group(
        "fleets",
        "Fleets: groups of workers, and the workflows they may run.",
        {"command": "show-command", "scaling": "show-scaling"},
    ),
    "fleet-secrets": Group(
        "fleet_secrets",
        "Fleet secrets: what a machine shows to register a worker. To rotate: create, restart the workers, retire.",
    ),
    "workers": Group("workers", "Workers: they register themselves; list, drain and revoke them here."),
    "workflows": Group(
        "workflows", "Workflows: registered ComfyUI graphs.", {"add": "create", "versions": "list-versions"}
    ),
    "effects": Group(
        "effects",
        "Effects: what users pick. A workflow, a price, a preview.",
        {"add": "create", "asset": "put-asset"},
    ),
    "jobs": Group("jobs", "Order effects, watch the jobs, download their outputs.", {"outputs": "download"}),
    "pipelines": Group("pipelines", "Pipelines: what runs make, step by step."),
    "runs": Group(
        "runs",
        "Runs of pipelines: start them, watch, approve, vote, export the winners.",
        {"budget": "set-budget", "jobs": "list-jobs", "reopen": "close-gate"},
    ),
    "dispatches": Group(
        "dispatches",
        "Dispatches: what waits and what runs.",
        {"graph": "show-graph", "result": "show-result", "priority": "set-priority"},
    ),
    "blocks": Group("blocks", "Blocks: a worker does not get a workflow structure that failed on it, for a while."),
    "settlements": Group("settlements", "Settlements that could not be applied and were set aside."),
    "alerts": Group("alerts", "Alerts: what is wrong now, and was lately."),
    "notifications": Group(
        "notifications", "Notifications: where operators hear of alerts, by webhook or mail, and what was sent."
    ),
    "audit-log": Group("audit_log", "Who did what; and whether that record was changed."),
    "comfy": Group("comfy", "ComfyUI servers and workflows, without a fleet."),
}
OLD_GROUPS = {"tenant": "tenants", "user": "users", "key": "keys", "wallet": "wallets"}


class LateGroup(TyperGroup):
    """A group whose commands are imported when one of them, or their list, is asked for."""

    def __init__(self, name: str, group: Group) -> None:
        super().__init__(name=name, help=group.help, no_args_is_help=True)
        self._group = group

    def list_commands(self, ctx: Any) -> list[str]:
        self._load()
        return super().list_commands(ctx)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self._load()
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        new = self._group.old_verbs.get(args[0])
        if new is not None:
            _tell(ctx, f"{self.name} {args[0]}", f"{self.name} {new}")
            args = [new, *args[1:]]
        return super().resolve_command(ctx, args)

    def _load(self) -> None:
        if not self.commands:
            self.commands = get_group(import_module(f"comfyfleet.cli.{self._group.module}").app).commands


class AllGroups(TyperGroup):
    """The root: what runs something, then the groups."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        for name, group in GROUPS.items():
            self.add_command(LateGroup(name, group))

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        new = OLD_GROUPS.get(args[0])
        if new is not None:
            _tell(ctx, args[0], new)
            args = [new, *args[1:]]
        return super().resolve_command(ctx, args)


def _tell(ctx: Any, old: str, new: str) -> None:
    if not ctx.resilient_parsing:  # a shell that completes is told nothing
        typer.echo(f"note: `comfyfleet {old}` is now `comfyfleet {new}`. The old spelling still works.", err=True)
