"""Pictures of the dashboards without a Grafana: the same queries, asked of a Prometheus, drawn by this page.

    python -m tools.draw_dashboards --prometheus http://127.0.0.1:9090 --minutes 15

writes docs/pictures/dashboard-*.webp. Start that Prometheus with --enable-feature=exemplar-storage.
"""

import argparse
import html
import io
import json
import math
import re
import shutil
import time
import urllib.parse
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from PIL import Image
from playwright.sync_api import sync_playwright

from tools.screenshots import FLAGS, PICTURES, ROOT

WIDTH = 1280
COLUMN, ROW = WIDTH / 24, 34
POINTS = 240
SECONDS_WITHIN = 20
LEFT, RIGHT, TOP, FOOT = 52, 8, 8, 18
LEGEND_MAX = 8
LEGEND_LINE = 15
COLOURS = ("#7eb26d", "#eab839", "#6ed0e0", "#ef843c", "#e24d42", "#1f78c1", "#ba43a9", "#705da0", "#508642", "#cca300")
STATES = {"green": "#73bf69", "yellow": "#eab839", "red": "#f2495c"}
STYLE = """
body { margin: 0; background: #111217; color: #ccccdc; font: 12px "DejaVu Sans", sans-serif; }
h1 { font-size: 18px; margin: 0; padding: 14px 16px 2px; } p { margin: 0; padding: 0 16px 8px; color: #9fa7b3; }
main { position: relative; } section { position: absolute; box-sizing: border-box; padding: 4px; }
section > div { background: #181b1f; border: 1px solid #2c3235; height: 100%; border-radius: 3px; overflow: hidden; }
h2 { font-size: 12px; margin: 0; padding: 7px 10px 2px; font-weight: 600; }
h3 { font-size: 14px; margin: 0; padding: 8px; }
text { fill: #9fa7b3; font-size: 10px; } .number { font-size: 34px; text-align: center; padding-top: 22px; }
.legend { padding: 0 10px; font-size: 10px; line-height: 15px; } .legend i { font-style: normal; font-weight: 900; }
.legend span { margin-right: 12px; white-space: nowrap; }
.none { color: #6e7681; text-align: center; padding-top: 60px; }
.prose { padding: 4px 12px; white-space: pre-wrap; line-height: 18px; }
"""


@dataclass(frozen=True)
class DrawnSeries:
    """A line: its legend, and values by time."""

    legend: str
    points: Sequence[tuple[float, float]]


@dataclass(frozen=True)
class AskedPrometheus:
    url: str
    begins_s: float
    ends_s: float
    interval_s: float

    @property
    def step_s(self) -> float:
        return max(self.interval_s, (self.ends_s - self.begins_s) / POINTS)

    def lines(self, expr: str, legend: str) -> list[DrawnSeries]:
        given = {"start": self.begins_s, "end": self.ends_s, "step": self.step_s}
        found = self._get("query_range", query=self._filled(expr), **given)["result"]
        return [DrawnSeries(_legend(legend, each["metric"]), self._points(each["values"])) for each in found]

    def _points(self, values: Sequence[tuple[float, str]]) -> list[tuple[float, float]]:
        """A gap is a point without a number: no line crosses it."""
        points: list[tuple[float, float]] = []
        for at, text in values:
            if points and at - points[-1][0] > 1.5 * self.step_s:
                points.append((points[-1][0] + self.step_s, math.nan))
            value = float(text)
            points.append((at, value if math.isfinite(value) else math.nan))
        return points

    def number(self, expr: str) -> float | None:
        found = self._get("query", query=self._filled(expr), time=self.ends_s)["result"]
        return float(found[0]["value"][1]) if found else None

    def exemplars(self, expr: str) -> list[tuple[float, float]]:
        found = self._get("query_exemplars", query=self._filled(expr), start=self.begins_s, end=self.ends_s)
        return [(each["timestamp"], float(each["value"])) for one in found for each in one["exemplars"]]

    def _filled(self, expr: str) -> str:
        """As Grafana does it, with everything chosen."""
        over = max(4 * self.interval_s, self.step_s + self.interval_s)
        return expr.replace("$__rate_interval", f"{over:.0f}s").replace("$fleet", ".*").replace("$workflow", ".*")

    def _get(self, what: str, **given: Any) -> Any:
        asked = urllib.parse.urlencode(given)
        with urllib.request.urlopen(f"{self.url}/api/v1/{what}?{asked}", timeout=SECONDS_WITHIN) as answer:  # noqa: S310
            return json.load(answer)["data"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--prometheus", default="http://127.0.0.1:9090")
    parser.add_argument("--minutes", type=float, default=15.0)
    parser.add_argument("--interval", type=float, default=15.0, help="how often it scrapes, in seconds")
    given = parser.parse_args()
    ends_s = time.time()
    asked = AskedPrometheus(given.prometheus, ends_s - 60 * given.minutes, ends_s, given.interval)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=FLAGS)
        for path in sorted((ROOT / "deploy" / "observe" / "dashboards").glob("*.json")):
            board = json.loads(path.read_text())
            page = browser.new_page(viewport={"width": WIDTH, "height": 800})
            page.set_content(draw_board(board, asked))
            picture = Image.open(io.BytesIO(page.screenshot(full_page=True)))
            name = f"dashboard-{path.stem.removeprefix('comfyfleet-')}.webp"
            picture.save(PICTURES / name, quality=80, method=6)
            page.close()
            print(name, picture.size)
        browser.close()


def draw_board(board: Mapping[str, Any], asked: AskedPrometheus) -> str:
    panels = [_place(each, _panel(each, asked)) for each in board["panels"]]
    height = max(each["gridPos"]["y"] + each["gridPos"]["h"] for each in board["panels"]) * ROW
    title, text = html.escape(board["title"]), html.escape(board["description"])
    inside = f"<h1>{title}</h1><p>{text}</p><main style='height:{height + 8}px'>{''.join(panels)}</main>"
    return f"<!doctype html><meta charset=utf-8><style>{STYLE}</style>{inside}"


def _place(panel: Mapping[str, Any], inside: str) -> str:
    place = panel["gridPos"]
    style = (
        f"left:{place['x'] * COLUMN}px;top:{place['y'] * ROW}px;width:{place['w'] * COLUMN}px;"
        f"height:{place['h'] * ROW}px"
    )
    if panel["type"] == "row":
        return f"<section style='{style}'><h3>{html.escape(panel['title'])}</h3></section>"
    return f"<section style='{style}'><div><h2>{html.escape(panel['title'])}</h2>{inside}</div></section>"


def _panel(panel: Mapping[str, Any], asked: AskedPrometheus) -> str:
    match panel["type"]:
        case "text":
            return f"<div class=prose>{html.escape(panel['options']['content'])}</div>"
        case "stat":
            return _number(panel, asked)
        case "timeseries":
            return _chart(panel, asked)
    return "<div class=none>No data source of traces here</div>" if panel["type"] == "traces" else ""


def _number(panel: Mapping[str, Any], asked: AskedPrometheus) -> str:
    value = asked.number(panel["targets"][0]["expr"])
    if value is None or math.isnan(value):
        return "<div class=number>–</div>"
    defaults = panel["fieldConfig"]["defaults"]
    steps = [each for each in defaults["thresholds"]["steps"] if each["value"] is None or value >= each["value"]]
    return f"<div class=number style='color:{STATES[steps[-1]['color']]}'>{_shown(value, defaults['unit'])}</div>"


def _chart(panel: Mapping[str, Any], asked: AskedPrometheus) -> str:
    found: list[DrawnSeries] = []
    dots: list[tuple[float, float]] = []
    for target in panel["targets"]:
        found += asked.lines(target["expr"], target["legendFormat"])
        dots += asked.exemplars(target["expr"]) if target.get("exemplar") else []
    if not found:
        return "<div class=none>No data</div>"
    defaults, place = panel["fieldConfig"]["defaults"], panel["gridPos"]
    width, height = place["w"] * COLUMN - 12, place["h"] * ROW - 34 - LEGEND_LINE * 2
    stacks = defaults["custom"]["stacking"]["mode"] == "normal"
    lines = _stacked(found) if stacks else [list(each.points) for each in found]
    values = [value for line in lines for _, value in line if not math.isnan(value)]
    limits = [each["value"] for each in defaults["thresholds"]["steps"] if each["value"] is not None]
    top = (max([*values, *(value for _, value in dots)], default=0.0) or 1.0) * 1.08
    frame = _Frame(asked.begins_s, asked.ends_s, top, width, height)
    drawn = [frame.grid(defaults["unit"])]
    for number, line in reversed(list(enumerate(lines))):
        drawn.append(frame.line(line, COLOURS[number % len(COLOURS)], filled=stacks))
    drawn += [frame.limit(each) for each in limits if each < top]
    drawn += [frame.dot(at, value) for at, value in dots]
    picture = f"<svg width={width} height={height}>{''.join(drawn)}</svg>"
    shown = [
        f"<span><i style='color:{COLOURS[number % len(COLOURS)]}'>―</i> {html.escape(each.legend)}</span>"
        for number, each in enumerate(found[:LEGEND_MAX])
    ]
    more = f"<span>and {len(found) - LEGEND_MAX} more</span>" if len(found) > LEGEND_MAX else ""
    return f"{picture}<div class=legend>{''.join(shown)}{more}</div>"


def _stacked(found: Sequence[DrawnSeries]) -> list[list[tuple[float, float]]]:
    """Each on top of those before it; what is not there counts as 0."""
    below = dict.fromkeys(sorted({at for each in found for at, _ in each.points}), 0.0)
    lines = []
    for each in found:
        for at, value in each.points:
            below[at] += 0.0 if math.isnan(value) else value
        lines.append(list(below.items()))
    return lines


@dataclass(frozen=True)
class _Frame:
    """From times and values to places."""

    begins_s: float
    ends_s: float
    top: float
    width: float
    height: float

    def x(self, at: float) -> float:
        return LEFT + (at - self.begins_s) / (self.ends_s - self.begins_s) * (self.width - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return self.height - FOOT - min(value, self.top) / self.top * (self.height - TOP - FOOT)

    def grid(self, unit: str) -> str:
        drawn = []
        for part in range(5):
            value = self.top / 1.08 * part / 4
            y = self.y(value)
            drawn.append(f"<line x1={LEFT} x2={self.width - RIGHT} y1={y} y2={y} stroke='#25282d'/>")
            drawn.append(f"<text x={LEFT - 6} y={y + 3} text-anchor=end>{_shown(value, unit)}</text>")
        for part in range(5):
            at = self.begins_s + (self.ends_s - self.begins_s) * (part + 0.5) / 5
            text = datetime.fromtimestamp(at, UTC).strftime("%H:%M")
            drawn.append(f"<text x={self.x(at)} y={self.height - 4} text-anchor=middle>{text}</text>")
        return "".join(drawn)

    def line(self, points: Sequence[tuple[float, float]], colour: str, *, filled: bool) -> str:
        drawn, part = [], []
        for at, value in [*points, (math.nan, math.nan)]:
            if not math.isnan(value):
                part.append((self.x(at), self.y(value)))
            elif part:
                drawn.append(self._stretch(part, colour, filled=filled))
                part = []
        return "".join(drawn)

    def _stretch(self, places: Sequence[tuple[float, float]], colour: str, *, filled: bool) -> str:
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        drawn = f"<polyline points='{path}' fill=none stroke='{colour}' stroke-width=1.3 />"
        if filled:
            foot = self.height - FOOT
            drawn = (
                f"<polygon points='{places[0][0]:.1f},{foot} {path} {places[-1][0]:.1f},{foot}'"
                f" fill='{colour}' fill-opacity=.8 />{drawn}"
            )
        return drawn

    def limit(self, value: float) -> str:
        y = self.y(value)
        return f"<line x1={LEFT} x2={self.width - RIGHT} y1={y} y2={y} stroke='#f2495c' stroke-dasharray='6 4'/>"

    def dot(self, at: float, value: float) -> str:
        return f"<circle cx={self.x(at):.1f} cy={self.y(value):.1f} r=2.4 fill='#5794f2'/>"


def _shown(value: float, unit: str) -> str:
    if unit == "percentunit":
        return f"{value * 100:.3g} %"
    if unit in ("bytes", "Bps"):
        for name in ("B", "KiB", "MiB"):
            if abs(value) < 1024:
                return f"{value:.3g} {name}"
            value /= 1024
        return f"{value:.3g} GiB"
    if unit == "s":
        for name, most in (("s", 60), ("min", 60), ("h", 48)):
            if abs(value) < most:
                return f"{value:.3g} {name}"
            value /= most if name != "h" else 24
        return f"{value:.3g} d"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _legend(text: str, labels: Mapping[str, str]) -> str:
    return re.sub(r"{{\s*(\w+)\s*}}", lambda found: labels.get(found[1], ""), text)


if __name__ == "__main__":
    main()
