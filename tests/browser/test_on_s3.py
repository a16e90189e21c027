"""The studio where objects are in S3, as in production: the browser speaks to the store itself, at another origin."""

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, expect

from tests.browser.conftest import Studio, Watched, a_long_clip, a_studio
from tests.made_media import a_picture
from tests.seaweedfs import SeaweedFs, run_seaweedfs

JOB_WITHIN_MS = 60_000
ALL_ARE_SHOWN = """() => [...document.querySelectorAll('main img')]
    .every((each) => each.complete && each.naturalWidth > 0)"""


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SeaweedFs]:
    with run_seaweedfs(tmp_path_factory.mktemp("s3")) as server:
        yield server


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, s3: SeaweedFs) -> Iterator[Studio]:
    settings = {
        "STORAGE": "s3",
        "S3_BUCKET": s3.bucket,
        "S3_REGION": "us-east-1",
        "S3_ENDPOINT_URL": s3.endpoint_url,
        "S3_ACCESS_KEY_ID": s3.access_key,
        "S3_SECRET_ACCESS_KEY": s3.secret_key,
    }
    with a_studio(tmp_path_factory.mktemp("studio"), **settings) as found:
        allow(s3, found.url)
        yield found


def allow(s3: SeaweedFs, origin: str) -> None:
    """Just the rule that docs/how-to/run-in-production.md asks for."""
    rule = {
        "AllowedOrigins": [origin],
        "AllowedMethods": ["GET", "PUT"],
        "AllowedHeaders": ["content-type", "if-none-match"],
        "ExposeHeaders": ["ETag"],
    }
    s3.client().put_bucket_cors(Bucket=s3.bucket, CORSConfiguration={"CORSRules": [rule]})


class Sent:
    """What the browser puts into the store itself."""

    def __init__(self, page: Page, s3: SeaweedFs) -> None:
        self.count = 0
        self._host = urlsplit(s3.endpoint_url).netloc
        page.on("request", self._note)

    def _note(self, request: Request) -> None:
        self.count += request.method == "PUT" and urlsplit(request.url).netloc == self._host


def start(page: Page) -> None:
    page.get_by_role("button", name="Start").click()
    expect(page).to_have_url(re.compile("/jobs/"), timeout=JOB_WITHIN_MS)


def test_a_picture_goes_into_the_bucket_and_comes_out_of_it(studio: Studio, demo: Watched, s3: SeaweedFs) -> None:
    page, sent = demo.page, Sent(demo.page, s3)
    studio.wait_for_previews()
    page.goto(studio.url)
    previews = page.locator("main img")
    expect(previews.first).to_be_visible()
    page.wait_for_function(ALL_ARE_SHOWN)
    page.get_by_role("link").filter(has_text="Soft glow").click()
    picture = {"name": "a lake.png", "mimeType": "image/png", "buffer": a_picture()}
    page.locator("input[type=file]").set_input_files(picture)  # type: ignore[arg-type]
    start(page)
    download = page.get_by_role("link", name="Download")
    expect(download).to_be_visible(timeout=JOB_WITHIN_MS)
    assert sent.count == 1
    for name in ("before", "after"):
        expect(page.get_by_text(name, exact=True)).to_be_visible()
    page.wait_for_function(ALL_ARE_SHOWN)
    # Another origin's file is saved all the same, by the name that the store gives it.
    with page.expect_download() as saved:
        download.click()
    assert saved.value.suggested_filename.endswith(".png")
    assert Path(saved.value.path()).read_bytes().startswith(b"\x89PNG")
    assert page.url.startswith(studio.url)
    named = demo.hosts - {""}  # pictures that are kept in the page have none
    assert named == {urlsplit(studio.url).netloc, urlsplit(s3.endpoint_url).netloc}
    demo.require_calm()


def test_a_long_clip_goes_there_in_parts(studio: Studio, demo: Watched, s3: SeaweedFs, tmp_path: Path) -> None:
    page, sent = demo.page, Sent(demo.page, s3)
    page.goto(f"{studio.url}/effects/painted-film")
    page.locator("input[type=file]").set_input_files(a_long_clip(tmp_path / "a long clip.mp4"))
    start(page)
    assert sent.count == 2
    expect(page.get_by_role("link", name="Download")).to_be_visible(timeout=JOB_WITHIN_MS)
    demo.require_calm()
