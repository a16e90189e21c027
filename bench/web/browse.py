"""A real Chromium before the server: what it fetches, when a page answers, how many frames it shows."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
FLAGS += ["--disable-sync", "--no-first-run"]
SLOWED = 4
WITHIN_MS = 60_000
# The page is there when its title is, and it answers when nothing keeps its thread busy any more.
WATCH = """(() => {
  const seen = () => document.querySelector('main h1') && !document.querySelector('main [aria-busy=true]');
  const look = () => seen() ? requestIdleCallback(() => { window.answeredAt = performance.now(); })
    : requestAnimationFrame(look);
  look();
})()"""
# Frames while something is done in each of them; the same loop does nothing on an empty page.
FRAMES = """async ([seconds, what]) => {
  const tree = document.querySelector('[data-testid=tree] canvas');
  const scroller = [...document.querySelectorAll('main *')].find(
    (each) => each.querySelector('canvas') && each.scrollHeight > each.clientHeight + 50
      && getComputedStyle(each).overflowY !== 'visible');
  if (what === 'tree' && !tree) throw new Error('no tree');
  if (what === 'timeline' && !scroller) throw new Error('no timeline that scrolls');
  const box = tree?.getBoundingClientRect();
  const acts = {
    nothing: () => {},
    tree: (n) => tree.dispatchEvent(new WheelEvent('wheel', {
      bubbles: true, cancelable: true, deltaY: Math.floor(n / 45) % 2 ? 40 : -40,
      clientX: box.x + box.width * 0.4, clientY: box.y + box.height * 0.5 })),
    timeline: (n) => { scroller.scrollTop += Math.floor(n / 60) % 2 ? -24 : 24; },
  };
  let frames = 0;
  const began = performance.now();
  await new Promise((done) => {
    const next = (now) => {
      if (now - began >= seconds * 1000) return done();
      acts[what](frames);
      frames += 1;
      requestAnimationFrame(next);
    };
    requestAnimationFrame(next);
  });
  return frames / ((performance.now() - began) / 1000);
}"""


class Visitor:
    """Somebody who is logged in, in a browser of their own."""

    def __init__(self, browser: Browser, url: str, session: Any) -> None:
        self._browser, self._url, self._session = browser, url, session

    @contextmanager
    def page(self) -> Iterator[tuple[BrowserContext, Page]]:
        """Nothing is cached yet."""
        context = self._browser.new_context(viewport={"width": 1280, "height": 860})
        context.add_cookies([self._session])
        page = context.new_page()
        page.set_default_timeout(WITHIN_MS)
        try:
            yield context, page
        finally:
            context.close()

    def first_load_kb(self) -> float:
        """Everything that is needed to show the first page, but for its pictures and data."""
        with self.page() as (context, page):
            wire = context.new_cdp_session(page)
            wire.send("Network.enable")
            wire.send("Network.setExtraHTTPHeaders", {"headers": {"Accept-Encoding": "gzip"}})
            kinds: dict[str, str] = {}
            sizes: dict[str, float] = {}
            wire.on("Network.responseReceived", lambda event: kinds.update({event["requestId"]: event["type"]}))
            wire.on(
                "Network.loadingFinished",
                lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}),
            )
            self._open(page, "/")
            page.wait_for_timeout(500)
            counted = [size for name, size in sizes.items() if kinds.get(name) in ("Document", "Script", "Stylesheet")]
        return sum(counted) / 1024

    def interactive_s(self, repetitions: int) -> float:
        found = []
        for _ in range(repetitions):
            with self.page() as (context, page):
                context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": SLOWED})
                self._open(page, "/")
                found.append(float(page.evaluate("window.answeredAt")) / 1000)
        return median(found)

    def history_ms(self, repetitions: int) -> float:
        """From the click to the first rows."""
        found = []
        for _ in range(repetitions):
            with self.page() as (_, page):
                self._open(page, "/")
                page.evaluate(
                    """() => { const look = () => document.querySelector('main a[href^="/jobs/"]')
                      ? requestAnimationFrame(() => { window.shownAt = performance.now(); })
                      : requestAnimationFrame(look);
                      document.querySelector('nav a[href="/history"]').addEventListener('click', () => {
                        window.clickedAt = performance.now(); look(); }, { once: true }); }"""
                )
                page.locator('nav a[href="/history"]').click()
                page.wait_for_function("() => window.shownAt")
                found.append(float(page.evaluate("window.shownAt - window.clickedAt")))
        return median(found)

    def frames(self, path: str, what: str, *, ready: str, repetitions: int, seconds: float) -> tuple[float, float]:
        """A second: while that is done, and on an empty page; in turns, so that both have the same machine."""
        moved, empty = [], []
        with self.page() as (context, page):
            blank = context.new_page()
            blank.goto(f"{self._url}/healthz")
            self._open(page, path)
            page.wait_for_function(f"() => {ready}")
            for _ in range(repetitions):
                blank.bring_to_front()
                empty.append(float(blank.evaluate(FRAMES, [seconds, "nothing"])))
                page.bring_to_front()
                moved.append(float(page.evaluate(FRAMES, [seconds, what])))
        return median(moved), median(empty)

    def _open(self, page: Page, path: str) -> None:
        page.add_init_script(WATCH)
        page.goto(f"{self._url}{path}")
        page.wait_for_function("() => window.answeredAt")


@contextmanager
def a_browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
