"""Names of regions."""

import re

REGION = re.compile(r"[a-z]{2}(-[a-z]+)+-\d{1,2}")


def require_region(region: str) -> str:
    """Raises ValueError. Whether AWS has such a region is found out by the first call."""
    if not REGION.fullmatch(region):
        raise ValueError(f"{region!r} is no name of an AWS region; write it such as eu-central-1")
    return region
