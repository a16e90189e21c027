"""An order of node ids that every server and every run shares."""

import re
from typing import TypeAlias

NodeOrder: TypeAlias = tuple[tuple[int, int, str], ...]


def node_order(node: str) -> NodeOrder:
    """As people count: 9 before 10, `12:3` (node 3 of the subgraph 12) after 12 and before `12:10` and 13."""
    return tuple((0, int(part), "") if _is_number(part) else (1, 0, part) for part in re.split(r"[:.]", node))


def _is_number(part: str) -> bool:
    return part.isascii() and part.isdecimal() and len(part) <= 20
