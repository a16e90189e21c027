"""One client a service and region. Every call has bounds in time, a debug line, and errors that say what to do."""

import os
import threading
from collections.abc import Mapping
from typing import Any

from comfyfleet.aws.problems import AwsFault, AwsProblem, explain
from comfyfleet.kernel.exchanges import Kind, timed_exchange

CONNECT_S, READ_S = 5, 20
# The first try and two more, with the pauses of the client's own standard mode: at most about 80 s in all.
TRIES = 3
CLIENTS_MAX = 64
# What a client reads of its environment when it is made.
READ_WHEN_MADE = ("AWS_ENDPOINT_URL", "AWS_PROFILE", "AWS_ACCESS_KEY_ID")

_clients: dict[tuple[str | None, ...], Any] = {}
_making = threading.Lock()


def aws_client(service: str, region: str, endpoint_url: str | None = None, *, quick: bool = False) -> Any:
    """Safe to share between threads. `quick`: one short try, for callers that must not wait. Raises AwsProblem."""
    key = (service, region, endpoint_url, str(quick), *(os.environ.get(name) for name in READ_WHEN_MADE))
    with _making:
        if key not in _clients:
            while len(_clients) >= CLIENTS_MAX:
                del _clients[next(iter(_clients))]
            _clients[key] = _make(service, region, endpoint_url, quick=quick)
        return _clients[key]


def call_aws(client: Any, action: str, parameters: Mapping[str, Any]) -> Any:
    """`action`: by its name in an IAM policy, such as `autoscaling:LaunchInstances`. Raises AwsProblem."""
    from botocore import xform_name

    name = action.partition(":")[2]
    method = getattr(client, xform_name(name), None)
    if method is None:
        raise AwsProblem(AwsFault.UNKNOWN_ACTION, action, "this version of boto3 does not know it; install a newer one")
    with timed_exchange(Kind.MACHINE, name):
        try:
            return method(**parameters)
        except Exception as problem:
            raise explain(problem, action) from None


def known_regions(service: str) -> set[str]:
    """Those that this version of boto3 knows; a newer region may be missing."""
    import boto3

    session: Any = boto3.session.Session()
    return {
        region
        for partition in session.get_available_partitions()
        for region in session.get_available_regions(service, partition_name=partition)
    }


def _make(service: str, region: str, endpoint_url: str | None, *, quick: bool) -> Any:
    try:
        import boto3
        from botocore.config import Config
    except ModuleNotFoundError:
        text = "boto3 is not installed; install it: pip install 'comfyfleet[aws]'"
        raise AwsProblem(AwsFault.NO_LIBRARY, service, text) from None
    wait_s = 3 if quick else READ_S
    limits = Config(
        connect_timeout=min(CONNECT_S, wait_s),
        read_timeout=wait_s,
        retries={"mode": "standard", "total_max_attempts": 1 if quick else TRIES},
    )
    try:
        # A session of its own: the shared one would keep credentials that were replaced since.
        session: Any = boto3.session.Session()
        return session.client(service, region_name=region, endpoint_url=endpoint_url, config=limits)
    except Exception as problem:
        raise explain(problem, service) from None
