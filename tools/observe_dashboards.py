"""Grafana dashboards as JSON, made from `observe_boards.py`; `make snapshots` writes them."""

import json
from collections.abc import Iterator
from typing import Any

from grafana_foundation_sdk.builders import common as common_builders
from grafana_foundation_sdk.builders import dashboard as board_builders
from grafana_foundation_sdk.builders import prometheus, stat, tempo, text, timeseries
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import common, dashboard
from grafana_foundation_sdk.models.text import TextMode

from tools.observe_boards import BOARDS, BoardSpec, PanelKind, PanelQuery, PanelSpec

FOLDER = "deploy/observe/dashboards"
COLUMNS = 24
HEIGHTS = {PanelKind.NUMBER: 4, PanelKind.TEXT: 5, PanelKind.TRACE: 8}
HEIGHT = 8
# Variables that are read from Prometheus, by a metric that has the label.
LABELS = {"fleet": "comfyfleet_workers", "workflow": "comfyfleet_job_wait_seconds_count"}
BOXES = {
    "job_id": ("Job id", ""),
    "trace_id": ("Trace id", ""),
    "console": ("Address of comfyfleet", "http://127.0.0.1:8700"),
}
METRICS = dashboard.DataSourceRef(type_val="prometheus", uid="${datasource}")
TRACES = dashboard.DataSourceRef(type_val="tempo", uid="${traces}")
COLOURS = ("orange", "red")
LETTERS = "ABCDEFGH"


def pages() -> Iterator[tuple[str, str]]:
    """Path and text of each dashboard."""
    for board in BOARDS:
        yield f"{FOLDER}/{board.uid}.json", json.dumps(as_json(board), indent=1, sort_keys=True, ensure_ascii=False)


def as_json(board: BoardSpec) -> dict[str, Any]:
    made: dict[str, Any] = json.loads(json.dumps(_build(board), cls=JSONEncoder))
    return made


def _build(board: BoardSpec) -> dashboard.Dashboard:
    built = (
        board_builders.Dashboard(board.title)
        .uid(board.uid)
        .description(board.text)
        .tags(["comfyfleet"])
        .timezone("browser")
        .refresh("30s")
        .time("now-3h", "now")
        .editable()
        .tooltip(dashboard.DashboardCursorSync.CROSSHAIR)
        .link(
            board_builders.DashboardLink("Comfyfleet")
            .type(dashboard.DashboardLinkType.DASHBOARDS)
            .tags(["comfyfleet"])
            .as_dropdown(True)
            .keep_time(True)
        )
    )
    for variable in _variables(board):
        built = built.with_variable(variable)
    for number, (title, expr) in enumerate(board.notes):
        built = built.annotation(_note(title, expr, COLOURS[number]))
    top, panel_id = 0, 1
    for heading, specs in board.rows:
        row = board_builders.Row(heading).id(panel_id).grid_pos(dashboard.GridPos(h=1, w=COLUMNS, x=0, y=top))
        built = built.with_row(row)
        top, left, height, panel_id = top + 1, 0, 0, panel_id + 1
        for spec in specs:
            if left + spec.width > COLUMNS:
                top, left, height = top + height, 0, 0
            high = HEIGHTS.get(spec.kind, HEIGHT)
            place = dashboard.GridPos(h=high, w=spec.width, x=left, y=top)
            built = built.with_panel(_panel(spec).id(panel_id).grid_pos(place))
            left, height, panel_id = left + spec.width, max(height, high), panel_id + 1
        top += height
    return built.build()


def _variables(board: BoardSpec) -> Iterator[Any]:
    yield board_builders.DatasourceVariable("datasource").label("Prometheus").type("prometheus")
    for name in board.variables:
        if name in LABELS:
            yield (
                board_builders.QueryVariable(name)
                .label(name.capitalize())
                .datasource(METRICS)
                .query(f"label_values({LABELS[name]}, {name})")
                .refresh(dashboard.VariableRefresh.ON_TIME_RANGE_CHANGED)
                .sort(dashboard.VariableSort.ALPHABETICAL_ASC)
                .multi(True)
                .include_all(True)
                .all_value(".*")
                .current(dashboard.VariableOption(selected=True, text="All", value="$__all"))
            )
        elif name in BOXES:
            label, value = BOXES[name]
            yield board_builders.TextBoxVariable(name).label(label).default_value(value)
        else:
            yield board_builders.DatasourceVariable(name).label("Traces").type("tempo")


def _note(title: str, expr: str, colour: str) -> board_builders.AnnotationQuery:
    return board_builders.AnnotationQuery().name(title).datasource(METRICS).enable(True).icon_color(colour).expr(expr)


def _panel(spec: PanelSpec) -> Any:
    if spec.kind is PanelKind.TEXT:
        return text.Panel().title(spec.title).mode(TextMode.MARKDOWN).content(spec.queries[0].expr)
    if spec.kind is PanelKind.TRACE:
        trace = tempo.TempoQuery().query(spec.queries[0].expr).query_type("traceql").ref_id("A")
        found = board_builders.Panel().type("traces").datasource(TRACES).with_target(trace)
        return found.title(spec.title).description(spec.text)
    built: Any = _number() if spec.kind is PanelKind.NUMBER else _lines(spec)
    for letter, query in zip(LETTERS, spec.queries, strict=False):
        built = built.with_target(_target(spec, letter, query))
    built = built.title(spec.title).description(spec.text).unit(spec.unit).datasource(METRICS)
    return built.thresholds(_thresholds(spec.limits)).color_scheme(_colours(spec))


def _number() -> stat.Panel:
    return (
        stat.Panel()
        .color_mode(common.BigValueColorMode.VALUE)
        .graph_mode(common.BigValueGraphMode.AREA)
        .reduce_options(common_builders.ReduceDataOptions().calcs(["lastNotNull"]))
    )


def _lines(spec: PanelSpec) -> timeseries.Panel:
    stacks = spec.kind is PanelKind.STACK
    mode = common.StackingMode.NORMAL if stacks else common.StackingMode.NONE
    limits = common.GraphThresholdsStyleMode.DASHED if spec.limits else common.GraphThresholdsStyleMode.OFF
    return (
        timeseries.Panel()
        .min(0)
        .line_width(1)
        .fill_opacity(30 if stacks else 0)
        .show_points(common.VisibilityMode.NEVER)
        .stacking(common_builders.StackingConfig().mode(mode).group("A"))
        .thresholds_style(common_builders.GraphThresholdsStyleConfig().mode(limits))
        .tooltip(
            common_builders.VizTooltipOptions().mode(common.TooltipDisplayMode.MULTI).sort(common.SortOrder.DESCENDING)
        )
        .legend(
            common_builders.VizLegendOptions()
            .display_mode(common.LegendDisplayMode.LIST)
            .placement(common.LegendPlacement.BOTTOM)
            .show_legend(True)
        )
    )


def _target(spec: PanelSpec, letter: str, query: PanelQuery) -> prometheus.Dataquery:
    found = prometheus.Dataquery().ref_id(letter).expr(query.expr).legend_format(query.legend).datasource(METRICS)
    if spec.kind is PanelKind.NUMBER:
        return found.instant()
    return found.range().exemplar(query.exemplars)


def _thresholds(limits: tuple[float, float] | None) -> board_builders.ThresholdsConfig:
    steps: list[tuple[float | None, str]]
    if limits is None:
        steps = [(None, "green")]
    elif limits[0] > limits[1]:  # less is worse
        steps = [(None, "red"), (limits[1], "yellow"), (limits[0], "green")]
    elif limits[0] == limits[1]:
        steps = [(None, "green"), (limits[1], "red")]
    else:
        steps = [(None, "green"), (limits[0], "yellow"), (limits[1], "red")]
    made = [dashboard.Threshold(value=value, color=colour) for value, colour in steps]
    return board_builders.ThresholdsConfig().mode(dashboard.ThresholdsMode.ABSOLUTE).steps(made)


def _colours(spec: PanelSpec) -> board_builders.FieldColor:
    by_limit = spec.kind is PanelKind.NUMBER
    mode = dashboard.FieldColorModeId.THRESHOLDS if by_limit else dashboard.FieldColorModeId.PALETTE_CLASSIC
    return board_builders.FieldColor().mode(mode)
