import inspect

import comfyfleet.pool
from comfyfleet.pool import Pool


def test_all_is_exactly_what_is_public() -> None:
    names = vars(comfyfleet.pool).items()
    shown = [name for name, value in names if not name.startswith("_") and not inspect.ismodule(value)]
    assert sorted(comfyfleet.pool.__all__) == sorted(shown)


def test_the_pool_has_the_methods_it_is_known_for() -> None:
    public = {name for name in vars(Pool) if not name.startswith("_")}
    assert public == {
        "add_server",
        "cancel",
        "close",
        "drained",
        "events",
        "jobs",
        "on",
        "open",
        "remove_server",
        "run",
        "servers",
        "state",
        "submit",
    }
