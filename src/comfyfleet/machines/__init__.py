"""Fleets that scale: their settings, what is known of them, what was decided, and the machines that run for them."""

from comfyfleet.machines.adapters import build_adapter, inspect_adapter
from comfyfleet.machines.ask import (
    end_machines,
    launch_machines,
    list_machines,
    plan_launch,
    unreachable,
    withdraw_launches,
)
from comfyfleet.machines.choose import choose
from comfyfleet.machines.configure import (
    find_fleet_scaling,
    get_fleet_scaling,
    resume_fleet_launches,
    set_fleet_scaling,
    stop_fleet_scaling,
)
from comfyfleet.machines.count import count_answer, count_decision, count_ends
from comfyfleet.machines.list import list_fleet_machines
from comfyfleet.machines.look import look
from comfyfleet.machines.model import (
    AdapterProblem,
    DecisionRow,
    FleetScaling,
    ListedMachine,
    ListedState,
    MachinesRun,
    NewestDecision,
    OpenLaunch,
    Seen,
)
from comfyfleet.machines.note import ask_ends, drain_worker, note_answer, note_decision, note_plan, open_launches
from comfyfleet.machines.show import ScalingReport, list_decisions, make_report, newest_decisions, show_scaling
from comfyfleet.machines.turns import (
    any_empty_fleet,
    due_fleets,
    forget_old_decisions,
    last_refusal,
    note_problem,
    release_fleet,
)
from comfyfleet.machines.write_off import write_off_machines

__all__ = [
    "AdapterProblem",
    "DecisionRow",
    "FleetScaling",
    "ListedMachine",
    "ListedState",
    "MachinesRun",
    "NewestDecision",
    "OpenLaunch",
    "ScalingReport",
    "Seen",
    "any_empty_fleet",
    "ask_ends",
    "build_adapter",
    "choose",
    "count_answer",
    "count_decision",
    "count_ends",
    "drain_worker",
    "due_fleets",
    "end_machines",
    "find_fleet_scaling",
    "forget_old_decisions",
    "get_fleet_scaling",
    "inspect_adapter",
    "last_refusal",
    "launch_machines",
    "list_decisions",
    "list_fleet_machines",
    "list_machines",
    "look",
    "make_report",
    "newest_decisions",
    "note_answer",
    "note_decision",
    "note_plan",
    "note_problem",
    "open_launches",
    "plan_launch",
    "release_fleet",
    "resume_fleet_launches",
    "set_fleet_scaling",
    "show_scaling",
    "stop_fleet_scaling",
    "unreachable",
    "withdraw_launches",
    "write_off_machines",
]
