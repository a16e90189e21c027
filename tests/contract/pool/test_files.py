"""What goes to a server and what comes back: inputs once, outputs as files or references, metadata, profile."""

import asyncio
import json
from pathlib import Path

import pytest

from comfyfleet.comfy.errors import AnswerTooLarge, InvalidGraph, PromptRefused, ServerUnreachable
from comfyfleet.comfy.model import Failed, FailureClass, FetchedFile, NodeError, OutputFile, Prompt, Returned
from comfyfleet.pool import InputFile, NodeProfile, Pool
from comfyfleet.pool.events import JobPreview, JobProgress
from comfyfleet.pool.outputs import fetch_outputs, place_files
from comfyfleet.pool.refusals import outcome_of
from tests.contract.pool.scripted import Scripted, graph
from tests.contract.pool.virtual import loop_now, run_virtual


def a_pool(*servers: Scripted, **options: object) -> Pool:
    return Pool(servers, now=loop_now, chance=lambda: 0.5, **options)  # type: ignore[arg-type]


def test_an_input_goes_to_each_server_once_and_is_bound_by_the_name_the_server_gave_it(tmp_path: Path) -> None:
    picture = tmp_path / "Cat.PNG"
    picture.write_bytes(b"a cat")

    async def story() -> None:
        one, other = Scripted("one"), Scripted("other")
        async with a_pool(one, other) as pool:
            given = {("1", "image"): picture}
            results = await asyncio.gather(*(pool.run(graph(seed=number), inputs=given) for number in range(8)))
            same = await pool.run(graph(), inputs={("1", "image"): InputFile(b"a cat", "dog.png")})
            changed = await pool.run(graph(), inputs={("1", "image"): InputFile(b"a dog", "dog.png")})
        assert sorted(map(len, (set(one.uploads), set(other.uploads)))) in ([1, 1], [1, 2])
        assert len(one.uploads) + len(other.uploads) == 3
        name = one.uploads[0]
        assert name.endswith(".png")
        assert one.prompts[0].graph["1"]["inputs"]["image"] == f"comfyfleet/one-{name}"
        assert same.job.structure_hash == results[0].job.structure_hash == changed.job.structure_hash
        assert same.job.content_hash != changed.job.content_hash

    run_virtual(story)


def test_a_server_that_comes_back_is_sent_its_inputs_again() -> None:
    async def story() -> None:
        server = Scripted("a")
        async with a_pool(server, reconnect_grace_s=1) as pool:
            for _ in range(2):
                await pool.run(graph(), inputs={("1", "image"): b"x"})
            assert len(server.uploads) == 1
            server.set_online(False)
            server.set_online(True)
            await pool.run(graph(), inputs={("1", "image"): b"x"})
            assert len(server.uploads) == 2

    run_virtual(story)


def test_an_input_that_was_swept_away_is_sent_again() -> None:
    async def story() -> None:
        server = Scripted("a")

        def swept(prompt: Prompt) -> PromptRefused | None:
            if len(server.uploads) != 1 or len(server.prompts) != 1:
                return None
            details = f"Invalid image file: {prompt.graph['1']['inputs']['image']}"
            error = NodeError(
                "1", "LoadImage", "image", "custom_validation_failed", "Custom validation failed", details
            )
            return PromptRefused("a", type="prompt_outputs_failed_validation", message="no", node_errors=(error,))

        server.refuse = swept
        async with a_pool(server) as pool:
            await pool.run(graph(), inputs={("1", "image"): b"x"})
            await pool.run(graph(), inputs={("1", "image"): b"x"})
        assert len(server.uploads) == 2
        assert len(server.prompts) == 2

    run_virtual(story)


def test_an_upload_that_failed_is_tried_again_and_one_for_two_jobs_is_one() -> None:
    async def story() -> None:
        server = Scripted("a")
        server.upload_s = 5
        async with a_pool(server) as pool:
            both = [await pool.submit(graph(seed=number), inputs={("1", "image"): b"x"}) for number in range(2)]
            await asyncio.sleep(1)
            await both[0].cancel()  # must not take the file away from the other one
            await both[1]
        assert len(server.uploads) == 1

    run_virtual(story)


def test_a_path_may_be_given_as_text(tmp_path: Path) -> None:
    async def story() -> None:
        file = tmp_path / "draw.json"
        file.write_text(json.dumps(graph()))
        async with a_pool(Scripted("a")) as pool:
            assert (await pool.run(str(file))).server == "a"
            assert (await pool.run(f"  {json.dumps(graph())}")).server == "a"
            with pytest.raises(InvalidGraph, match=r"Cannot read .*nowhere\.json \(No such file"):
                await pool.run(str(tmp_path / "nowhere.json"))

    run_virtual(story)


def test_an_input_for_a_node_that_is_not_there_is_refused() -> None:
    async def story() -> None:
        async with a_pool(Scripted("a")) as pool:
            with pytest.raises(InvalidGraph, match="node '9'"):
                await pool.submit(graph(), inputs={("9", "image"): b"x"})

    run_virtual(story)


@pytest.mark.parametrize("given", [{}, {"1": 5}, {"1": {"inputs": {}}}, {"nodes": [], "links": []}, {1: object()}])
def test_what_is_no_graph_is_refused_before_it_is_queued(given: dict[str, object]) -> None:
    async def story() -> None:
        async with a_pool(Scripted("a")) as pool:
            with pytest.raises(InvalidGraph):
                await pool.submit(given)
            assert pool.jobs == ()

    run_virtual(story)


def test_a_graph_that_its_owner_changes_afterwards_is_run_as_it_was_given() -> None:
    async def story() -> None:
        server = Scripted("a")
        async with a_pool(server) as pool:
            mine = graph()
            handles = []
            for text in ("one", "two", "three"):
                mine["1"]["inputs"]["text"] = text
                handles.append(await pool.submit(mine))
            await asyncio.gather(*(handle.result() for handle in handles))
        assert server.texts == ["one", "two", "three"]

    run_virtual(story)


def test_results_are_references_unless_somebody_wants_files(tmp_path: Path) -> None:
    async def story() -> None:
        async with a_pool(Scripted("a")) as pool:
            result = await pool.run(graph())
            assert [output.filename for output in result.outputs] == ["x_1.png"]
            assert result.files == ()
            saved = await pool.run(graph(), save_to=tmp_path / "mine")
            assert [file.path for file in saved.files] == [tmp_path / "mine" / "x_1.png"]
        async with a_pool(Scripted("a"), outputs=tmp_path / "all") as pool:
            results = [await pool.run(graph()) for _ in range(2)]
            for result in results:
                assert result.files[0].path == tmp_path / "all" / result.job.id / "x_1.png"
                assert result.files[0].path.read_bytes() == b"picture"

    run_virtual(story)


def test_the_next_job_runs_while_files_are_fetched(tmp_path: Path) -> None:
    async def story() -> None:
        server = Scripted("a", seconds=1)
        server.fetch_s = 3
        async with a_pool(server, outputs=tmp_path) as pool:
            await asyncio.gather(*(pool.run(graph(seed=number)) for number in range(8)))
        assert server.idle_s < 1

    run_virtual(story)


def test_a_file_that_the_network_loses_is_fetched_again(tmp_path: Path) -> None:
    async def story() -> None:
        server = Scripted("a")
        server.fetch_errors = [ServerUnreachable("a", problem="reset") for _ in range(2)]
        async with a_pool(server, outputs=tmp_path) as pool:
            result = await pool.run(graph())
            assert (len(result.files), len(server.prompts)) == (1, 1)

    run_virtual(story)


def test_an_output_of_the_cache_whose_file_is_gone_is_made_anew(tmp_path: Path) -> None:
    async def story() -> None:
        server = Scripted("a")
        server.gone_outputs = 1
        async with a_pool(server, outputs=tmp_path) as pool:
            result = await pool.run(graph())
            assert len(result.files) == 1
        assert (server.freed_count, len(server.prompts)) == (1, 2)

    run_virtual(story)


def test_metadata_is_on_every_event_of_the_job_and_on_no_prompt() -> None:
    async def story() -> None:
        server = Scripted("a")
        async with a_pool(server) as pool:
            async with pool.events(where=lambda event: hasattr(event, "job")) as events:
                tags = {"tenant": "acme"}
                handle = await pool.submit(graph(), metadata=tags)
                tags["tenant"] = "changed"
                await handle
            heard = [event async for event in events]
        assert [event.name for event in heard] == [
            "job:queued",
            "job:started",
            "job:progress",
            "job:progress",
            "job:preview",
            "job:completed",
        ]
        assert {event.job.metadata["tenant"] for event in heard} == {"acme"}  # type: ignore[union-attr]
        steps = [event.progress.fraction for event in heard if isinstance(event, JobProgress)]
        assert steps == [0.0, 0.5]
        assert [event.preview.image for event in heard if isinstance(event, JobPreview)] == [b"tiny"]
        assert "acme" not in str(server.prompts[0])

    run_virtual(story)


def test_the_events_of_a_handle_end_with_the_job() -> None:
    async def story() -> None:
        async with a_pool(Scripted("a")) as pool:
            handle = await pool.submit(graph())
            other = await pool.submit(graph())
            assert [event.name async for event in handle.events()][-1] == "job:completed"
            assert [event async for event in handle.events()] == []
            await other

    run_virtual(story)


def test_a_finished_job_tells_where_its_time_went() -> None:
    async def story() -> None:
        async with a_pool(Scripted("a", seconds=4)) as pool:
            await asyncio.gather(*(pool.run(graph()) for _ in range(2)))
            first = await pool.submit(graph())
            second = await pool.submit(graph())
            third = await pool.submit(graph())
            profile = (await third).profile
            await asyncio.gather(first.result(), second.result())
            assert profile.nodes == (
                NodeProfile("1", "Draw", 4.0, cached=False),
                NodeProfile("2", "SaveImage", 0.0, cached=True),
            )
            assert profile.waited_s == pytest.approx(4.0, abs=0.01)
            assert profile.took_s == pytest.approx(8.0, abs=0.01)

    run_virtual(story)


def test_names_a_server_chooses_stay_in_the_folder_and_apart() -> None:
    names = [
        "../../etc/passwd",
        "a.png",
        "A.PNG",
        "..\\x\\a.png",
        "",
        "...",
        "sub/dir/é.webp",
        "x" * 500 + ".png",
        "a\0b.png",
    ]
    outputs = tuple(OutputFile("7", "images", name, index=number) for number, name in enumerate(names))
    paths = place_files(outputs, Path("out"))
    assert all(path.parent == Path("out") for path in paths)
    assert len({path.name.lower() for path in paths}) == len(names)
    assert [path.name for path in paths][:6] == ["passwd", "a.png", "A-2.PNG", "a-3.png", "7-images-4", "7-images-5"]
    assert all(0 < len(path.name) <= 130 for path in paths)


def test_what_is_in_the_folder_stays(tmp_path: Path) -> None:
    """Two servers both call their first picture `a_00001_.png`; a server may call one like our own list."""
    (tmp_path / "a_00001_.png").write_bytes(b"of the last run")
    outputs = tuple(
        OutputFile("9", "images", name, "", "output", "image/png") for name in ("A_00001_.png", "manifest.json")
    )
    assert [path.name for path in place_files(outputs, tmp_path)] == ["A_00001_-2.png", "manifest-2.json"]


def test_of_files_that_do_not_all_come_none_is_left(tmp_path: Path) -> None:
    class Half(Scripted):
        async def fetch(self, output: OutputFile, to: Path) -> FetchedFile:
            if output.filename == "second.png":
                raise AnswerTooLarge("half", route="/view", limit_bytes=7)
            await asyncio.to_thread(to.write_bytes, b"x")
            return FetchedFile(output, to, 1, "")

    outputs = tuple(OutputFile("9", "images", name, "", "output", "image/png") for name in ("first.png", "second.png"))
    with pytest.raises(AnswerTooLarge):
        asyncio.run(fetch_outputs(Half("half"), outputs, tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_a_file_beyond_our_own_limit_is_not_made_again() -> None:
    view = AnswerTooLarge("a", route="/view", limit_bytes=7)
    history = AnswerTooLarge("a", route="/history/1", limit_bytes=7)
    assert outcome_of(view) == Failed(FailureClass.WORKFLOW_INVALID, view.message)
    assert isinstance(outcome_of(history), Returned)
