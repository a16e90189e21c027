"""What the looking process gives up before it sees the first byte of a stranger's file."""

import os
import resource

from comfyfleet.media.model import MediaRules
from comfyfleet.media.seccomp import NoSeccomp, forbid_dumps, install

# Nobody: owns no file, and can do no more than any stranger on the machine.
NOBODY = 65534
CAP_KILL = 1 << 5
FIRST_INHERITED, DESCRIPTORS_MAX = 3, 2**31 - 1


def enter_sandbox(rules: MediaRules) -> str | None:
    """Everything that this process will need is loaded. Returns why there is no seccomp filter, or None."""
    os.closerange(FIRST_INHERITED, DESCRIPTORS_MAX)
    become_nobody()
    forbid_dumps()
    limit_resources(rules)
    try:
        install()
    except NoSeccomp as missing:
        return str(missing)
    return None


def become_nobody() -> None:
    """Started as root: another user, without groups. Only where the parent can still end that user's process."""
    if os.geteuid() != 0 or not _capabilities() & CAP_KILL:
        return
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:
        return  # a container whose root is no root, or that has no such user: the filter is the wall there


def limit_resources(rules: MediaRules) -> None:
    cpu_s = max(1, round(rules.probe_s))
    # The soft one ends it with a signal of its own, by which the parent knows why; the hard one would not.
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_s, cpu_s + 1))
    for what, limit in (
        (resource.RLIMIT_AS, rules.probe_memory_bytes),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 0),
        (resource.RLIMIT_NPROC, 0),
    ):
        resource.setrlimit(what, (limit, limit))


def _capabilities() -> int:
    with open("/proc/self/status") as status:
        return next((int(line.split()[1], 16) for line in status if line.startswith("CapEff:")), 0)
