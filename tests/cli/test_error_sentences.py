"""An error on the command line says what happened, where, and what to do; what only programs need stays away."""

from pathlib import Path

import pytest

from comfyfleet.cli.comfy.progress import Bar
from comfyfleet.cli.comfy.values import bind_given
from comfyfleet.cli.errors import print_error
from comfyfleet.comfy.errors import InvalidGraph, ServerTimedOut, ServerUnreachable, UnexpectedAnswer
from comfyfleet.comfy.graph import read_workflow
from comfyfleet.comfy.verdict import ReturnReason, words_of_return
from comfyfleet.kernel.errors import FleetError
from comfyfleet.pool.events import ClientState
from comfyfleet.pool.model import ServerState


@pytest.mark.parametrize(
    ("error", "advice"),
    [
        (ServerUnreachable("gpu-1:8188", problem="refused.", sent=False), "refused. Does ComfyUI run there"),
        (UnexpectedAnswer("gpu-1:8188", route="/queue", status=404, problem="no words"), "the address of a ComfyUI?"),
        (UnexpectedAnswer("gpu-1:8188", route="/queue", status=302, problem="no words"), "it redirects to."),
        (UnexpectedAnswer("gpu-1:8188", route="/queue", status=500, problem="boom"), "Its own log says why."),
        (ServerTimedOut("gpu-1:8188", route="/queue", limit_s=30.0), "within 30 s."),
    ],
)
def test_what_to_do_is_said_and_facts_are_not_said_twice(
    error: FleetError, advice: str, capsys: pytest.CaptureFixture[str]
) -> None:
    print_error(error, as_json=False)
    said = capsys.readouterr().err
    assert "gpu-1:8188" in said
    assert advice in said
    assert "(sent" not in said
    assert "limit s" not in said


def test_what_broke_while_it_was_carried_out_is_not_blamed_on_the_address() -> None:
    assert "Does ComfyUI run there" not in str(ServerUnreachable("gpu-1:8188", problem="reset", sent=True))


def test_a_file_that_is_no_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "torn.json").write_text("{")
    with pytest.raises(InvalidGraph, match=r"^torn\.json is not JSON"):
        read_workflow(tmp_path / "torn.json")


def test_a_placeholder_without_a_value_says_how_to_give_one() -> None:
    graph = {"1": {"class_type": "LoadImage", "inputs": {"image": "{{photo}}"}}}
    with pytest.raises(InvalidGraph, match=r"node 1, input 'image'.*--set photo=… or --input photo=FILE"):
        bind_given(graph, {}, {})


def test_every_reason_to_give_a_prompt_back_has_words_for_people() -> None:
    assert all(words_of_return(reason).endswith(".") for reason in ReturnReason)
    assert words_of_return("anything else") == "anything else"


def test_a_server_that_goes_and_comes_back_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar(quiet=False)
    bar.show(ClientState("gpu-1", 0.0, ServerState.OFFLINE, ServerState.ONLINE, "no connection"))
    bar.show(ClientState("gpu-1", 1.0, ServerState.RECOVERING, ServerState.OFFLINE))
    assert capsys.readouterr().err.splitlines() == [
        "The connection to gpu-1 is lost. Waiting for it, or for another server …",
        "gpu-1 is back.",
    ]
