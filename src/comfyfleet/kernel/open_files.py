"""How many files and sockets this process may have open."""

import resource

WANTED_MAX = 1024**2


def raise_open_files() -> int:
    """As many as the system allows without asking anybody; returns how many that is."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = WANTED_MAX if hard == resource.RLIM_INFINITY else min(hard, WANTED_MAX)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):  # refused after all: what there was stays
            return soft
        return wanted
    return WANTED_MAX if soft == resource.RLIM_INFINITY else soft
