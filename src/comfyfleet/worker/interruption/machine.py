"""On what machine are we? Only EC2 tells us when it takes one away."""

import re
from dataclasses import dataclass

import structlog

from comfyfleet.worker.interruption.metadata import Metadata, MetadataUnavailable

INSTANCE_ID = re.compile(r"i-[0-9a-f]{8,32}")
REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d{1,2}")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Ec2Machine:
    instance_id: str
    region: str


async def find_machine(metadata: Metadata) -> Ec2Machine | None:
    """Asked once, at the start. None: not EC2, or somebody else's metadata service at the same address."""
    try:
        instance_id = await metadata.read("meta-data/instance-id") or ""
        region = await metadata.read("meta-data/placement/region") or ""
    except MetadataUnavailable as problem:
        log.debug("machine.no_metadata", problem=problem.message)
        return None
    if not INSTANCE_ID.fullmatch(instance_id) or not REGION.fullmatch(region):
        return None
    return Ec2Machine(instance_id, region)
