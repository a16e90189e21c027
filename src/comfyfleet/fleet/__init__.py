"""Workers and fleets: who may ask for work, and for which."""

from comfyfleet.fleet.able import able_workers
from comfyfleet.fleet.change import deregister_worker, get_worker, move_worker, retire_stale, rotate_token
from comfyfleet.fleet.fleets import (
    assign_workflow,
    create_fleet,
    find_fleet,
    get_fleet,
    list_fleet_secrets,
    list_fleets,
    make_fleet_secret,
    require_fleet_secret,
    retire_fleet_secret,
)
from comfyfleet.fleet.lifecycle import WorkerEvent, WorkerStatus
from comfyfleet.fleet.listing import (
    Assignment,
    FleetDetail,
    ListedWorker,
    WorkerDetail,
    WorkerFilter,
    list_workers,
    show_fleet,
    show_worker,
)
from comfyfleet.fleet.model import Fleet, FleetRules, FleetSecret, NewWorker, Registration, Sighting, Standing, Worker
from comfyfleet.fleet.presence import (
    authenticate_worker,
    authenticate_workers,
    fleet_workflows,
    hold_workers,
    own_workflows,
    refusal,
    require_token,
    take_turns,
    touch_workers,
)
from comfyfleet.fleet.register import allowed_workflows, register_worker
from comfyfleet.fleet.start_command import start_command

__all__ = [
    "Assignment",
    "Fleet",
    "FleetDetail",
    "FleetRules",
    "FleetSecret",
    "ListedWorker",
    "NewWorker",
    "Registration",
    "Sighting",
    "Standing",
    "Worker",
    "WorkerDetail",
    "WorkerEvent",
    "WorkerFilter",
    "WorkerStatus",
    "able_workers",
    "allowed_workflows",
    "assign_workflow",
    "authenticate_worker",
    "authenticate_workers",
    "create_fleet",
    "deregister_worker",
    "find_fleet",
    "fleet_workflows",
    "get_fleet",
    "get_worker",
    "hold_workers",
    "list_fleet_secrets",
    "list_fleets",
    "list_workers",
    "make_fleet_secret",
    "move_worker",
    "own_workflows",
    "refusal",
    "register_worker",
    "require_fleet_secret",
    "require_token",
    "retire_fleet_secret",
    "retire_stale",
    "rotate_token",
    "show_fleet",
    "show_worker",
    "start_command",
    "take_turns",
    "touch_workers",
]
