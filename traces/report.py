"""`report.html`: one self-contained page about a run, figures first.

First the figures that the plan defines: those of the paper. Then those of the queues.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any

from orchestrator.engine.frames.frame_layout import MAC_CONTROL_TYPE
from orchestrator.errors import BadInput
from orchestrator.plan.metric_registry import PLUGIN_METRICS
from orchestrator.recording import PortCapture
from orchestrator.registry import Registry
from orchestrator.run.frozen_expectations import frozen_notes as frozen_sentences
from orchestrator.run.guarded_files import draw_report
from orchestrator.run.verdict import INCOMPLETE
from traces import explorer, figures, html_page, report_files
from traces.fidelity_text import sentences
from traces.metrics.sample_table import Table
from traces.result_schema import Expectation
from traces.run_reader import Run

# Proof that a run has no pauses, so that its captures need not be read again.
#
# What reads them takes longer to import than a small report to write.

TYPES_AT = (12, 16, 20)
"""Offsets of a frame's type: without a tag, behind one, behind two."""


def has_no_pauses(run: Run) -> bool:
    """True where nothing was captured; of a run that was just made also where nothing that was can
    be a PAUSE or a PFC frame, and no port has counted any time that one held it."""
    if run.folder is None or not any((run.folder / "captures").glob("*.pcapng")):
        return True
    if run.captures is None:
        return False
    return not any(map(_may_hold_pause, run.captures)) and not _has_counted_pauses(run.table)


def _may_hold_pause(capture: PortCapture) -> bool:
    """True if any frame is a MAC control frame."""
    high, low = divmod(MAC_CONTROL_TYPE, 256)
    octets = capture.octets
    places = [place for place in TYPES_AT if place + 2 <= octets.shape[1]]
    found = [(octets[:, at] == high) & (octets[:, at + 1] == low) for at in places]
    return any(bool(some.any()) for some in found)


def _has_counted_pauses(table: Table) -> bool:
    """True if any port counted paused time."""
    return any(
        bool(table.column(one, "paused_ps")[-1:].any()) for one in table.entities("paused_ps")
    )


MARKS = {
    "met": "✓",
    "missed": "✗",
    "uncertain": "±",
    "unjudged": "–",
    "stopped": "■",
    "invalid": "⚠",
    "valid": "✓",
    "degraded": "⚠",
}
"""A sign next to every judgement: neither colour nor sign is used alone."""
PAGE = "report.html"
MOST_ROWS = 2000
"""Of one table of metrics; a page of more would not open. result.json has them all."""


def report(run: Run, place: str = "") -> str:
    """The page as HTML. Everything that comes from the run is escaped.

    Linked is what lies in the run's folder alone; `place` is the way there from the page.
    """
    result = run.result
    title = str(run.plan.get("title") or result.plan)
    body = [
        f"<h1>{escape(title)}</h1>",
        f"<p class=lead>plan <b>{escape(result.plan)}</b>, target <b>{escape(result.target)}</b>, "
        f"seed {result.seed}{_paper(run)} · {judgement(result.verdict)} · "
        f"fidelity {judgement(str(result.fidelity.get('verdict', 'unknown')))}</p>",
        *_planned(run),
        *_figures(run),
        explorer.section(run),
        _verdict(run),
        _fidelity(run),
        _pauses(run),
        *_plugin_metrics(run),
        *_metrics(run),
        _events(run),
        report_files.section(run, place),
        html_page.collapsible(
            "Plan, every default written out", f"<pre>{escape(run.plan_text)}</pre>"
        ),
        html_page.collapsible("Manifest", html_page.tree(run.manifest)),
    ]
    return html_page.document(f"{result.plan}, {result.target}: {result.verdict}", body)


def write_report(run: Run, target: Path) -> None:
    """Write the page to a file, which is whole or as it was before; a link stays a link.

    Raises BadInput for a device or a pipe: the file would take its place (as root of /dev/null,
    too).
    """
    if target.exists() and not target.is_file():
        raise BadInput(str(target), "is no regular file; the path of a file is expected")
    target = target.resolve()
    place = os.path.relpath(run.folder, target.parent) if run.folder is not None else ""
    text = report(run, place)
    partial = target.with_name(f".{target.name}.{os.getpid()}.partial")
    try:
        partial.write_text(text, encoding="utf-8", newline="\n")
        partial.replace(target)
    finally:
        partial.unlink(missing_ok=True)
    if run.folder is not None:
        _add_panels(run.folder, target)


def _add_panels(folder: Path, target: Path) -> None:
    """Have the plugins that are not tailback's own add to the page (`tailback_report`).

    A page outside the run's folder is added to in a folder of links to the run's files: the hook
    knows the page by its name.
    """
    registry = Registry.load()
    if target.absolute() == folder.absolute() / PAGE:
        draw_report(registry, folder, own=False)
        return
    with tempfile.TemporaryDirectory(prefix="tailback-") as temporary:
        beside = Path(temporary)
        for path in folder.iterdir():
            if path.name != PAGE:
                (beside / path.name).symlink_to(path.absolute())
        shutil.copyfile(target, beside / PAGE)
        before = (beside / PAGE).read_bytes()
        draw_report(registry, beside, own=False)
        if (beside / PAGE).read_bytes() != before:
            shutil.copyfile(beside / PAGE, target)


def judgement(word: str) -> str:
    """A verdict with its sign and a class for its colour."""
    return f'<span class="j {escape(word)}">{MARKS.get(word, "?")} {escape(word)}</span>'


def _paper(run: Run) -> str:
    paper = run.plan.get("paper")
    return f", after {escape(str(paper))}" if paper else ""


def _planned(run: Run) -> list[str]:
    """The figures of the paper."""
    shown = []
    for one in figures.planned(run):
        parts = [figures.inline(figures.draw_plots(one), one.label)] if one.plots else []
        body = f'<div class="plot">{"".join(parts)}</div>' if parts else ""
        for panel in one.tables:
            heads, rows = figures.rows_of(panel)
            body += f"<p>{escape(panel.title)} {escape(figures.caption(panel))}</p>"
            body += html_page.table(heads, rows)
        texts = (one.caption, one.called, *one.notes)
        said = "".join(f"<br>{escape(text)}" for text in texts if text)
        shown.append(
            f"<figure>{body}<figcaption><b>{escape(one.title)}</b>{said}</figcaption></figure>"
        )
    return shown


def _figures(run: Run) -> list[str]:
    drawn = []
    for port in figures.bottlenecks(run):
        label = f"Queue, utilisation, rates of the flows and fairness at {port} over time"
        drawn.append(
            f'<figure><div class="plot">{figures.inline(figures.paper_figure(run, port), label)}'
            f"</div><figcaption>{escape(label)}. Utilisation over windows of 20 ms, rates over "
            "50 ms, shorter in short runs; fairness (Jain's index of two flows or more) over a "
            "twentieth of the run; the queue is drawn with all its peaks."
            "</figcaption></figure>"
        )
    if run.messages is not None and len(run.messages.size):
        label = "Slowdown of messages by size, and how completion times are distributed"
        drawn.append(
            f'<figure><div class="plot">{figures.inline(figures.completion_figure(run), label)}'
            f"</div><figcaption>{escape(label)}. Slowdown: completion time over that of the empty "
            "path; quantiles of eight groups by size. Incomplete messages are left out."
            "</figcaption></figure>"
        )
    if run.result.marking:
        label = "Share of frames marked over the length of the queue"
        drawn.append(
            f'<figure><div class="plot">{figures.inline(figures.marking_figure(run), label)}'
            f"</div><figcaption>{escape(label)} that its congestion point saw, without the frame; "
            "of the queues that marked most. Eight bins for each factor of two, with 95 % "
            "intervals (Wilson); the configured curve where marks go by the queue's length "
            "alone.</figcaption></figure>"
        )
    if figures.columns_with_values(run):
        label = "State of the algorithms over time"
        drawn.append(
            f'<figure><div class="plot">{figures.inline(figures.state_figure(run), label)}'
            f"</div><figcaption>{escape(label)}. For each the eight entities that vary most; what "
            "is 0 throughout is left out.</figcaption></figure>"
        )
    return drawn


def _verdict(run: Run) -> str:
    result = run.result
    head = f"<h2>Verdict: {judgement(result.verdict)}</h2>" + _frozen(run)
    head += "".join(f"<p>{INCOMPLETE}: {escape(one)}.</p>" for one in result.incomplete)
    if not result.expectations:
        return head + "<p>The plan expects nothing, so there was nothing to judge.</p>"
    rows: list[list[html_page.Cell]] = [
        [
            html_page.Raw(judgement(one.judgement)),
            one.metric,
            one.of,
            one.phase,
            html_page.Number(one.value, one.unit),
            html_page.Number(one.uncertainty, one.unit) if one.uncertainty else "",
            html_page.band(one.min, one.max, one.unit),
            " · ".join(text for text in (one.source, one.note) if text),
        ]
        for one in _missed_first(result.expectations)
    ]
    columns = ("", "metric", "of", "phase", "value", "±", "expected", "source")
    return head + html_page.table(columns, rows)


def _frozen(run: Run) -> str:
    """Time at which the expectations were frozen, if that was before the run."""
    frozen = run.manifest.get("frozen")
    if not isinstance(frozen, dict):
        return ""
    try:
        return "".join(f"<p>{escape(text)}</p>" for text in frozen_sentences(frozen))
    except (KeyError, TypeError):  # of a tampered folder
        return "<p>The manifest's record of frozen expectations cannot be read.</p>"


def _missed_first(expectations: list[Expectation]) -> list[Expectation]:
    return sorted(expectations, key=lambda one: one.met or one.of_seeds is not None)


def _fidelity(run: Run) -> str:
    fidelity = run.result.fidelity
    verdict = str(fidelity.get("verdict", "unknown"))
    reasons = "".join(f"<li>{escape(str(reason))}</li>" for reason in fidelity.get("reasons") or [])
    text = f"<h2>Fidelity: {judgement(verdict)}</h2>" + (f"<ul>{reasons}</ul>" if reasons else "")
    text += "".join(f"<p>{escape(sentence)}</p>" for sentence in sentences(fidelity))
    numbers = {key: value for key, value in fidelity.items() if key not in ("verdict", "reasons")}
    if numbers:
        text += html_page.collapsible("Every number and its bounds", html_page.tree(numbers))
    return text + "<h3>Performance</h3>" + html_page.tree(run.result.performance)


def _pauses(run: Run) -> str:
    """Pauses by two measurements, where there are any."""
    if run.folder is None or has_no_pauses(run):
        return ""
    from traces.pause_agreement import paused_ports

    rows: list[list[html_page.Cell]] = [
        [
            one.entity,
            str(one.frames),
            html_page.Number(one.capture_s, "s"),
            html_page.Number(one.counter_s, "s"),
            one.note or "they agree",
        ]
        for one in paused_ports(run.folder, run.plan_text, run.table)
    ]
    if not rows:
        return ""
    columns = ("sender", "frames captured", "held, by capture", "held, by counter", "")
    return "<h2>Pauses, by two measurements</h2>" + html_page.table(columns, rows)


def _plugin_metrics(run: Run) -> list[str]:
    """A panel for each metric that a plugin declares and that the run has."""
    parts = []
    for metric in PLUGIN_METRICS.values():
        rows: list[list[html_page.Cell]] = [
            [phase, entity, html_page.Number(found[metric.name], metric.unit.symbol)]
            for phase, entities in run.result.metrics.items()
            for entity, found in entities.items()
            if metric.name in found
        ]
        if not rows:
            continue
        name = metric.label or metric.name
        parts.append(
            f'<section class="metric"><h2>{escape(name[:1].upper() + name[1:])}</h2>'
            f"<p><code>{escape(metric.name)}</code> ({escape(metric.unit.symbol)}): "
            f"{escape(metric.meaning)}.</p>"
        )
        if drawn := figures.metric_bars(run, metric.name):
            parts.append(f'<div class="plot">{figures.inline(drawn, name)}</div>')
        parts.append(html_page.table(("phase", "of", name), rows[:MOST_ROWS]))
        if len(rows) > MOST_ROWS:
            parts.append(f"<p>… and {len(rows) - MOST_ROWS} more, in result.json.</p>")
        parts.append("</section>")
    return parts


def _metrics(run: Run) -> list[str]:
    """One table per phase and kind of entity: entities down, metrics across."""
    parts = ["<h2>Metrics</h2>"]
    for phase, entities in run.result.metrics.items():
        tables = []
        kinds: dict[tuple[str, ...], dict[str, dict[str, Any]]] = {}
        for entity, found in entities.items():
            kinds.setdefault(tuple(sorted(found)), {})[entity] = found
        for names, members in kinds.items():
            rows: list[list[html_page.Cell]] = [
                [entity, *(html_page.Number(found[n], run.result.units.get(n, "")) for n in names)]
                for entity, found in islice(members.items(), MOST_ROWS)
            ]
            tables.append(html_page.table(("of", *names), rows))
            if (rest := len(members) - len(rows)) > 0:
                tables.append(f"<p>… and {rest} more, in result.json.</p>")
        span = run.phases.get(phase)
        when = f" ({span[0] / 1e12:g} s to {span[1] / 1e12:g} s)" if span else ""
        parts.append(
            html_page.collapsible(
                f"{phase}{when}", "".join(tables), opened=phase in run.phases or not run.phases
            )
        )
    return parts


def _events(run: Run) -> str:
    if not run.events:
        return ""
    rows: list[list[html_page.Cell]] = [
        [
            html_page.Raw(f"{event.time_ps / 1e12:.6f} s"),
            event.kind,
            event.entity,
            html_page.short(event.detail),
        ]
        for event in run.events
    ]
    table = html_page.table(("time", "event", "of", "detail"), rows)
    return html_page.collapsible(f"Events ({len(rows)})", table)
