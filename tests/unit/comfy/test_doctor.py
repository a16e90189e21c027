"""What is right and wrong with a server, judged from what was found."""

from dataclasses import replace

import pytest

from comfyfleet.comfy.doctor import Examined, Finding, Verdict, WorkflowNeeds, judge, listens_on, parse_version, worst
from comfyfleet.comfy.examine import find_needs
from comfyfleet.comfy.graph import ModelFile
from comfyfleet.comfy.model import Device, ServerFacts

GPU = Device("NVIDIA RTX 4090", "cuda", 24 * 1024**3, 20 * 1024**3)
FACTS = ServerFacts(version="0.33.0", devices=(GPU,), argv=("main.py", "--listen", "127.0.0.1"))
WELL = Examined(
    url="http://127.0.0.1:8188",
    host="127.0.0.1",
    facts=FACTS,
    latency_s=0.004,
    clock_off_s=0.4,
    socket_problem=None,
    sends_credentials=False,
    opens_without_credentials=True,
)


def found(seen: Examined, check: str) -> list[Finding]:
    return [finding for finding in judge(seen) if finding.check == check]


def verdicts(seen: Examined, check: str) -> list[Verdict]:
    return [finding.verdict for finding in found(seen, check)]


def test_a_good_server_has_nothing_but_the_note_on_files() -> None:
    assert worst(judge(WELL)) is Verdict.NOTE
    assert [finding.check for finding in judge(WELL) if finding.verdict is Verdict.NOTE] == ["files"]


@pytest.mark.parametrize(
    ("version", "verdict", "lacking"),
    [
        ("0.33.0", Verdict.FINE, ""),
        ("0.38.1", Verdict.FINE, ""),
        ("1.0", Verdict.FINE, ""),
        ("0.7.0", Verdict.NOTE, "cancelling a job"),
        ("v0.3.60-2-gabc", Verdict.NOTE, "the state of a job in one request"),
        ("0.3.50", Verdict.WARNING, "interrupting one prompt"),
        ("0.3.44", Verdict.PROBLEM, "prompt ids of our own"),
        ("0.0.2", Verdict.PROBLEM, "prompt ids of our own"),
        (None, Verdict.WARNING, "None"),
        ("nightly", Verdict.WARNING, "nightly"),
    ],
)
def test_the_version_says_what_is_missing(version: str | None, verdict: Verdict, lacking: str) -> None:
    (finding,) = found(replace(WELL, facts=replace(FACTS, version=version)), "version")
    assert finding.verdict is verdict
    assert lacking in finding.text


def test_versions_compare_as_numbers() -> None:
    assert parse_version("0.33.0") == (0, 33, 0)
    assert parse_version("0.9") == (0, 9, 0)


def test_devices_are_named_with_their_memory() -> None:
    (finding,) = found(WELL, "devices")
    assert finding.text == "NVIDIA RTX 4090 (cuda), 20.0 of 24.0 GiB free"
    on_cpu = replace(WELL, facts=replace(FACTS, devices=(Device("cpu", "cpu", 1, 1),)))
    assert verdicts(on_cpu, "devices") == [Verdict.NOTE]
    assert verdicts(replace(WELL, facts=replace(FACTS, devices=())), "devices") == [Verdict.WARNING]


def test_a_deaf_socket_is_a_problem() -> None:
    assert verdicts(replace(WELL, socket_problem="refused"), "socket") == [Verdict.PROBLEM]


@pytest.mark.parametrize(
    ("host", "argv", "opens", "verdict"),
    [
        ("127.0.0.1", (), True, Verdict.FINE),
        ("::1", ("--listen", "127.0.0.1"), True, Verdict.FINE),
        ("127.0.0.1", ("--listen",), True, Verdict.WARNING),
        ("127.0.0.1", ("--listen", "0.0.0.0"), True, Verdict.WARNING),
        ("127.0.0.1", ("--listen=127.0.0.1,::1",), True, Verdict.FINE),
        ("127.0.0.1", ("--listen", "127.0.0.1,10.0.0.7"), True, Verdict.WARNING),
        ("gpu-7.example.com", (), True, Verdict.WARNING),
        ("gpu-7.example.com", (), False, Verdict.FINE),
    ],
)
def test_who_can_reach_a_server_without_a_password_is_told(
    host: str, argv: tuple[str, ...], opens: bool, verdict: Verdict
) -> None:
    seen = replace(
        WELL, host=host, url=f"https://{host}", facts=replace(FACTS, argv=argv), opens_without_credentials=opens
    )
    assert verdicts(seen, "access") == [verdict]


def test_credentials_over_plain_http_and_foreign_pages_are_told() -> None:
    seen = replace(
        WELL,
        host="gpu-7",
        url="http://gpu-7",
        opens_without_credentials=False,
        sends_credentials=True,
        facts=replace(FACTS, argv=("--enable-cors-header", "*")),
    )
    assert verdicts(seen, "access") == [Verdict.FINE, Verdict.WARNING, Verdict.WARNING]


def test_listening_without_an_address_means_everywhere() -> None:
    assert listens_on(("main.py", "--listen", "--cpu")) == "0.0.0.0,::"
    assert listens_on(("main.py",)) is None


def test_open_routes_are_a_note_at_home_and_a_warning_elsewhere() -> None:
    routes = ("/internal/logs", "/history?max_items=1")
    near = replace(WELL, open_routes=routes)
    far = replace(near, host="gpu-7", url="http://gpu-7")
    assert verdicts(near, "routes") == [Verdict.NOTE]
    (finding,) = found(far, "routes")
    assert finding.verdict is Verdict.WARNING
    assert "/internal/logs (its log" in finding.text
    assert "max_items" not in finding.text
    assert finding.advice


def test_slow_answers_and_a_wrong_clock_are_told() -> None:
    seen = replace(WELL, latency_s=2.0, clock_off_s=-3600.0)
    assert verdicts(seen, "latency") == verdicts(seen, "clock") == [Verdict.WARNING]
    assert found(seen, "clock")[0].text == "Its clock is 60 min behind ours."
    assert found(replace(WELL, clock_off_s=None), "clock") == []


def test_what_a_workflow_lacks_is_a_problem_with_names() -> None:
    model = ModelFile("sd15.safetensors", "checkpoints", "4", "CheckpointLoaderSimple", "ckpt_name")
    classes = tuple(f"Custom{number}" for number in range(12))
    seen = replace(WELL, workflow=WorkflowNeeds(9, missing_classes=classes, missing_models=(model,)))
    texts = [finding.text for finding in found(seen, "workflow")]
    assert texts[0].startswith("Node classes missing: Custom0, ")
    assert texts[0].endswith("Custom9 and 2 more")
    assert "sd15.safetensors (node 4, ckpt_name)" in texts[1]
    assert worst(judge(seen)) is Verdict.PROBLEM
    assert verdicts(replace(WELL, workflow=WorkflowNeeds(9)), "workflow") == [Verdict.FINE]


OBJECT_INFO = {
    "Load": {"input": {"required": {"ckpt_name": [["a.safetensors"], {}]}}, "output": ["MODEL"], "output_node": False},
    "Save": {"input": {"required": {"model": ["MODEL", {}]}}, "output": [], "output_node": True},
}


def test_the_needs_of_a_workflow_are_found_in_what_the_server_lists() -> None:
    graph = {
        "1": {"class_type": "Load", "inputs": {"ckpt_name": "b.safetensors"}},
        "2": {"class_type": "Save", "inputs": {"model": ["1", 0]}},
        "3": {"class_type": "Magic", "inputs": {}},
    }
    needs = find_needs(graph, OBJECT_INFO)
    assert (needs.nodes, needs.missing_classes) == (3, ("Magic",))
    assert [model.name for model in needs.missing_models] == ["b.safetensors"]
    assert needs.problems == ()
    assert find_needs({"1": {"class_type": "Load"}}, OBJECT_INFO).problems
    drawn = {"nodes": [{"id": 1, "type": "Magic", "inputs": [], "outputs": []}], "links": []}
    assert find_needs(drawn, OBJECT_INFO).missing_classes == ("Magic",)
