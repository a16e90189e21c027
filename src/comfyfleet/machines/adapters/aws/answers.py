"""What AWS answers to a launch, in the words of `Machines`. Pure."""

from collections.abc import Mapping
from typing import Any

from comfyfleet.aws import AwsFault, AwsProblem
from comfyfleet.scaling import LaunchAnswer, LaunchError, LaunchProblem, LaunchRequest

TEXT_CHARS_MAX = 300
CAPACITY_WORDS = (
    "insufficientinstancecapacity",
    "insufficienthostcapacity",
    "insufficientcapacity",
    "insufficientreservedinstancecapacity",
    "unfulfillablecapacity",
    "spotmaxpricetoolow",
    "capacity-not-available",
    "there is no spot capacity",
    "do not have sufficient",
    "could not launch spot instances",
)
QUOTA_WORDS = (
    "maxspotinstancecountexceeded",
    "vcpulimitexceeded",
    "instancelimitexceeded",
    "limitexceeded",
    "vcpu limit",
    "max spot instance count",
    "quota",
)
# Nothing was launched, or nobody knows: the same token is sent again.
REPEATED = frozenset({AwsFault.BUSY, AwsFault.THROTTLED, AwsFault.UNREACHABLE})


def sort_problem(words: str) -> LaunchProblem:
    """By AWS's error code and message: codes of EC2 come through in both."""
    said = words.lower()
    if any(each in said for each in CAPACITY_WORDS):
        return LaunchProblem.CAPACITY
    return LaunchProblem.QUOTA if any(each in said for each in QUOTA_WORDS) else LaunchProblem.REFUSED


def problem_answer(problem: AwsProblem, request: LaunchRequest) -> LaunchAnswer:
    kind = LaunchProblem.UNREACHABLE
    if problem.fault not in REPEATED:
        kind = sort_problem(f"{problem.aws_code} {problem.message}")
    return LaunchAnswer((), (LaunchError(kind, problem.message, request.number),))


def answer_of(said: Mapping[str, Any], request: LaunchRequest, group: str) -> LaunchAnswer:
    """Errors beside a full launch are AWS's own: it tried several types."""
    ids = tuple(each for found in said.get("Instances") or [] for each in found.get("InstanceIds") or [])
    missing, errors = request.number - len(ids), said.get("Errors") or []
    if missing <= 0 or not errors:
        return LaunchAnswer(ids)
    texts = dict.fromkeys(_text(each) for each in errors)
    kinds = [sort_problem(f"{each.get('ErrorCode', '')} {each.get('ErrorMessage', '')}") for each in errors]
    # One type without capacity is capacity, also where another is not offered in the zone.
    kind = LaunchProblem.CAPACITY if LaunchProblem.CAPACITY in kinds else kinds[0]
    text = f"group {group}: {'; '.join(texts)}"[:TEXT_CHARS_MAX]
    return LaunchAnswer(ids, (LaunchError(kind, text, missing),))


def _text(error: Mapping[str, Any]) -> str:
    where = "/".join(str(error[key]) for key in ("InstanceType", "MarketType", "AvailabilityZone") if error.get(key))
    return f"{error.get('ErrorCode', 'no code')} {where} {error.get('ErrorMessage', '')}".strip()
