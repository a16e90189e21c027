"""The day as one HTML page: tables, and plots drawn as SVG here. It loads nothing from anywhere."""

import html
from collections.abc import Callable, Sequence

from comfyfleet.kernel.durations import seconds_text
from comfyfleet.simulate.day.figures import DayFigures, Sample
from comfyfleet.simulate.day.plan import HOUR_S, DayPlan

WIDTH, HEIGHT, LEFT, BOTTOM = 880, 220, 60, 24
COLOURS = ("#2563eb", "#dc2626", "#059669", "#9333ea", "#d97706")
STYLE = """
:root { color-scheme: light dark }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0; font-variant-numeric: tabular-nums }
th, td { padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #8884 }
th:first-child, td:first-child { text-align: left }
figure { margin: 1.5rem 0; overflow-x: auto }
figcaption { font-weight: 600 }
svg text { fill: currentColor; font-size: 12px }
"""

Series = tuple[str, str, Sequence[tuple[float, float]]]  # name, colour, points
COLUMNS: dict[str, Callable[[DayFigures], str]] = {
    "paid GPU-h": lambda day: f"{day.paid_h:,.0f}",
    "busy": lambda day: f"{day.busy_h:,.0f}",
    "idle": lambda day: f"{day.idle_h:,.0f}",
    "starting": lambda day: f"{day.starting_h:,.0f}",
    "dollars": lambda day: f"{day.dollars:,.0f}",
    "wait p50 s": lambda day: f"{day.waits.p50:.1f}",
    "p95": lambda day: f"{day.waits.p95:.1f}",
    "p99": lambda day: f"{day.waits.p99:.1f}",
    "fairness": lambda day: "–" if day.fairness is None else f"{day.fairness:.3f}",
    "switches a job": lambda day: f"{day.switches_per_job:.3f}",
    "launches": lambda day: f"{day.launches:,}",
    "completed": lambda day: f"{day.completed:,}",
    "lost": lambda day: f"{day.lost:,}",
}


def render_report(plan: DayPlan, days: Sequence[DayFigures]) -> str:
    title = html.escape(f"Simulated: {plan.name}, seed {plan.seed}")
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style></head><body>',
        f"<h1>{title}</h1>",
        f"<p>{seconds_text(plan.lasts_s)}, {plan.jobs_per_s:g} jobs a second on average, at most"
        f" {plan.settings.max_workers:,} workers. Every policy got the same arrivals.</p>",
        "<h2>Policies</h2>",
        _table(list(COLUMNS), [(day.policy, [read(day) for read in COLUMNS.values()]) for day in days]),
    ]
    compared = [
        (day.policy, colour, [(each.at_s, float(each.ready + each.starting)) for each in day.samples])
        for day, colour in zip(days, COLOURS, strict=False)
    ]
    parts.append(_plot("Machines paid, by policy", compared))
    waiting = [
        (day.policy, colour, [(each.at_s, float(each.waiting)) for each in day.samples])
        for day, colour in zip(days, COLOURS, strict=False)
    ]
    parts.append(_plot("Jobs waiting, by policy", waiting))
    for day in days:
        parts += _one_day(day)
    parts.append("</body></html>")
    return "\n".join(parts)


def _one_day(day: DayFigures) -> list[str]:
    reads: dict[str, Callable[[Sample], int]] = {
        "ready": lambda each: each.ready,
        "busy": lambda each: each.busy,
        "starting": lambda each: each.starting,
        "desired": lambda each: each.desired,
    }
    series: list[Series] = [
        (name, colour, [(each.at_s, float(read(each))) for each in day.samples])
        for (name, read), colour in zip(reads.items(), COLOURS, strict=False)
    ]
    parts = [f"<h2>{html.escape(day.policy)}</h2>", _plot("Workers", series)]
    if day.deciles:
        rows = [
            (f"{10 * number} to {10 * number + 10} %", [f"{waits.p50:.1f}", f"{waits.p95:.1f}", f"{waits.p99:.1f}"])
            for number, waits in enumerate(day.deciles)
        ]
        parts.append("<p>Waits by tenant, those with most jobs first, in seconds.</p>")
        parts.append(_table(["p50", "p95", "p99"], rows))
    if day.holds:
        holds = ", ".join(f"{name} {times:,}" for name, times in sorted(day.holds.items()))
        parts.append(f"<p>Decisions held: {html.escape(holds)}.</p>")
    return parts


def _table(headings: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]]) -> str:
    head = "".join(f"<th>{html.escape(each)}</th>" for each in ("", *headings))
    body = "".join(
        f"<tr><td>{html.escape(name)}</td>{''.join(f'<td>{html.escape(cell)}</td>' for cell in cells)}</tr>"
        for name, cells in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _plot(title: str, series: Sequence[Series]) -> str:
    points = [point for _, _, line in series for point in line]
    if not points:
        return ""
    last_s = max(at_s for at_s, _ in points) or 1.0
    most = max(value for _, value in points) or 1.0

    def place(at_s: float, value: float) -> str:
        x = LEFT + (WIDTH - LEFT) * at_s / last_s
        return f"{x:.1f},{HEIGHT - BOTTOM - (HEIGHT - BOTTOM - 10) * value / most:.1f}"

    lines = "".join(
        f'<polyline fill="none" stroke="{colour}" stroke-width="1.5"'
        f' points="{" ".join(place(at_s, value) for at_s, value in line)}"/>'
        for _, colour, line in series
    )
    hours = range(0, int(last_s // HOUR_S) + 1, max(1, int(last_s // HOUR_S) // 12))
    scale = "".join(
        f'<text x="{LEFT + (WIDTH - LEFT) * hour * HOUR_S / last_s:.0f}" y="{HEIGHT - 6}">{hour:02d}:00</text>'
        for hour in hours
    )
    scale += f'<text x="0" y="16">{most:,.0f}</text><text x="0" y="{HEIGHT - BOTTOM}">0</text>'
    legend = " ".join(f'<span style="color:{colour}">■ {html.escape(name)}</span>' for name, colour, _ in series)
    return (
        f'<figure><figcaption>{html.escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' aria-label="{html.escape(title)}">{lines}{scale}</svg><div>{legend}</div></figure>'
    )
