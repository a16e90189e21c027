"""Groups of commands, each loaded when it is called: a worker need not carry the control plane about."""

from importlib import import_module
from typing import Any

from typer.core import TyperGroup
from typer.main import get_group

# By name: the module below this package that holds its `app`.
GROUPS = {
    "db": "database",
    "tenant": "tenants",
    "user": "users",
    "key": "keys",
    "wallet": "wallets",
    "fleets": "fleets",
    "fleet-secrets": "fleet_secrets",
    "workers": "workers",
    "workflows": "workflows",
    "effects": "effects",
    "jobs": "jobs",
    "pipelines": "pipelines",
    "runs": "runs",
    "dispatches": "dispatches",
    "blocks": "blocks",
    "settlements": "settlements",
    "audit-log": "audit_log",
    "comfy": "comfy",
}


class LateGroups(TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        self._load_all()
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name in GROUPS:
            self._load(cmd_name)
        elif cmd_name not in self.commands:
            self._load_all()  # a slip of the pen: what is like it is proposed
        return super().get_command(ctx, cmd_name)

    def _load_all(self) -> None:
        for name in GROUPS:
            self._load(name)

    def _load(self, name: str) -> None:
        if name not in self.commands:
            group = get_group(import_module(f"comfyfleet.cli.{GROUPS[name]}").app)
            group.name = name
            self.commands[name] = group
