"""Are the groups as the settings say, and safe for machines at work? Asked of AWS when they are set."""

import asyncio
from collections.abc import Mapping
from typing import Any

from comfyfleet.aws import AwsFault, AwsProblem, known_regions
from comfyfleet.kernel.errors import InvalidInput
from comfyfleet.machines.adapters.aws.groups import GroupView, read_groups
from comfyfleet.machines.adapters.aws.settings import AwsGroup, AwsSettings, check_settings
from comfyfleet.scaling import ScalingSettings

WHERE = "adapter_settings.groups"


async def inspect(settings: Mapping[str, Any], scaling: ScalingSettings) -> None:
    """Raises InvalidInput where a group is not fit, AwsProblem where AWS cannot be asked."""
    found = check_settings(settings)
    views = await asyncio.to_thread(_read, found)
    for group in found.groups:
        view = views[group.name]
        _require_whole_instances(view)
        _require_no_least(view)
        _require_no_rebalance(view)
        _require_market(group, view)
        _require_zones(found, group, view, scaling)
    _require_room(list(views.values()), scaling)


def _read(settings: AwsSettings) -> dict[str, GroupView]:
    try:
        return read_groups(settings, [each.name for each in settings.groups])
    except AwsProblem as problem:
        if problem.fault is AwsFault.REFUSED:
            raise InvalidInput(WHERE, problem.problem) from None
        # Asked only now: a region may be newer than this boto3.
        if problem.fault is AwsFault.UNREACHABLE and settings.region not in known_regions("autoscaling"):
            text = f"{settings.region!r} is no region that boto3 knows, and nothing answers there; correct it"
            raise InvalidInput("adapter_settings.region", text) from None
        raise


def _require_whole_instances(view: GroupView) -> None:
    if view.is_weighted:
        raise InvalidInput(WHERE, f"{view.name}: counts capacity in weights or units; remove WeightedCapacity from it")


def _require_no_least(view: GroupView) -> None:
    if view.least:
        raise InvalidInput(
            WHERE,
            f"{view.name}: has MinSize {view.least}; set it to 0 in AWS and set min_workers instead: AWS would refuse"
            " to end machines, or start some by itself",
        )


def _require_no_rebalance(view: GroupView) -> None:
    if len(view.zones) > 1 and "AZRebalance" not in view.suspended:
        raise InvalidInput(
            WHERE,
            f"{view.name}: spans {len(view.zones)} zones, and AWS may end machines at work to balance them; "
            "suspend its process AZRebalance in AWS (aws autoscaling suspend-processes)",
        )


def _require_market(group: AwsGroup, view: GroupView) -> None:
    if view.markets is not None and view.markets not in ("both", group.market.value):
        raise InvalidInput(
            WHERE,
            f"{view.name}: is set as {group.market.value}, but its mixed instances policy launches {view.markets};"
            " correct one of them",
        )


def _require_zones(settings: AwsSettings, group: AwsGroup, view: GroupView, scaling: ScalingSettings) -> None:
    used = [
        zone
        for each in scaling.classes
        for offer in each.offers
        for zone in each.zones
        if settings.group_for(each.name, offer.market, zone) == group
    ]
    for zone in used:
        if zone and zone not in view.zones:
            raise InvalidInput(WHERE, f"{view.name}: is in {', '.join(view.zones)}, not in zone {zone!r} of the class")
    if settings.launch == "launch_instances" and "" in used and len(view.zones) > 1:
        raise InvalidInput(
            WHERE,
            f"{view.name}: spans {len(view.zones)} zones, and LaunchInstances needs one; give the class as "
            f"{group.machine_class},zones={'+'.join(view.zones)}, or set launch to 'auto'",
        )


def _require_room(views: list[GroupView], scaling: ScalingSettings) -> None:
    room = sum(each.most for each in views)
    if scaling.max_workers > room:
        raise InvalidInput(
            "max_workers",
            f"is {scaling.max_workers}, but the groups may have {room} instances together (their MaxSize); raise"
            " MaxSize in AWS, or lower max_workers",
        )
