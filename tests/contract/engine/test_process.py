"""`comfyfleet engine` as people start it: its port, its end, and what a restart loses."""

import signal
from pathlib import Path

import httpx2
import pytest

from tests.engines import EngineProcess, a_picture_graph, a_sleep_graph, an_engine_process

WITHIN_S = 20.0


def submit(engine: EngineProcess, graph: dict, **faults: object) -> dict:
    body = {"prompt": graph, "extra_data": {"comfyfleet_faults": faults}}
    answer: dict = httpx2.post(f"{engine.url}/prompt", json=body, timeout=WITHIN_S).json()
    return answer


def test_a_restart_loses_queue_history_and_temp_and_keeps_the_outputs(tmp_path: Path):
    with an_engine_process(tmp_path) as engine:
        first = submit(engine, a_picture_graph(), instant_cached=True)
        shown = submit(engine, a_sleep_graph(seconds=0), instant_cached=True)
        history = httpx2.get(f"{engine.url}/history/{shown['prompt_id']}").json()
        temp = history[shown["prompt_id"]]["outputs"]["2"]["images"][0]["filename"]
        submit(engine, a_sleep_graph(seconds=60, steps=600))
        submit(engine, a_picture_graph(color=1))
        assert engine.end(signal.SIGKILL) == -signal.SIGKILL

    with an_engine_process(tmp_path) as engine:
        assert httpx2.get(f"{engine.url}/queue").json() == {"queue_running": [], "queue_pending": []}
        assert httpx2.get(f"{engine.url}/history").json() == {}
        assert httpx2.get(f"{engine.url}/view?filename={temp}&type=temp").status_code == 404
        assert httpx2.get(f"{engine.url}/view?filename=picture_00001_.png").status_code == 200
        assert submit(engine, a_picture_graph(color=2))["number"] == first["number"] == 0
        submit(engine, a_sleep_graph(seconds=60, steps=600))
        # Ctrl-C in the middle of a prompt.
        assert engine.end(signal.SIGINT) == 0


def test_a_process_that_is_told_to_die_dies(tmp_path: Path):
    with an_engine_process(tmp_path) as engine:
        submit(engine, a_picture_graph(), die_at_node="2")
        assert engine.process.wait(WITHIN_S) == 1
        with pytest.raises(httpx2.ConnectError):
            httpx2.get(f"{engine.url}/prompt")
