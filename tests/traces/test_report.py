"""The report: complete, self-contained, escaped."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from traces import explorer
from traces.report import report
from traces.run_reader import Run

VOID = {"meta", "br", "img", "input", "hr", "link"}


class Balanced(HTMLParser):
    """Fails on tags that do not match; collects attributes that load something."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag, attrs) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.loads += [v for k, v in attrs if k in ("src", "href", "xlink:href", "action")]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def parse(text: str) -> Balanced:
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    return parser


def without_scripts(text: str) -> str:
    """The page without the scripts of `explorer`, each of which is there once, and its data."""
    for script in explorer.library_scripts():
        assert text.count(script) == 1
        text = text.replace(f"<script>{script}</script>", "")
    return re.sub(r'<script type="application/json" id="series">.*?</script>', "", text)


def test_report_holds_what_it_must(make_run) -> None:
    text = report(make_run())
    parser = parse(text)
    assert all(link.startswith("#") for link in parser.loads)
    text = without_scripts(text)
    without = re.sub(r' xmlns(:xlink)?="http://www.w3.org/[0-9a-z/]+"', "", text)
    assert not re.search(r"https?:|//[a-z]+\.|@import|<script|<link", without)
    order = [text.index(part) for part in ("<svg", "Verdict:", "Fidelity:", "Metrics", "Plan, ")]
    assert order == sorted(order)
    for part in ("✓ met", "✗ missed", "20 KB to 28 KB", "at least 0.99", "late_p99_ns", "measured"):
        assert part in text
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    assert "[phases.high]" in text


def test_missed_expectations_come_first(make_run) -> None:
    text = report(make_run())
    text = text[text.index("<h2>Verdict") :]
    assert text.index("20 KB to 28 KB") < text.index("30 KB to 38 KB")


def test_everything_is_escaped(make_run) -> None:
    run: Run = make_run()
    evil = "<script>alert('x')</script>&\"'"
    run.plan_text = f"# {evil}\n" + run.plan_text
    run.label = evil
    run.result.expectations[0].note = evil
    run.result.fidelity["reasons"] = [evil]
    run.result.fidelity["verdict"] = evil
    run.result.fidelity[evil] = {"deep": evil}
    run.manifest[evil] = [evil]
    run.result.metrics["run"][evil] = {"queue_bytes.mean": 1.0}
    text = report(run)
    parse(text)
    assert "<script" not in without_scripts(text)
    assert "<b>&" not in text  # of the manifest


def test_without_expectations_or_events(make_run) -> None:
    run = make_run()
    run.result.expectations.clear()
    run.events.clear()
    assert "expects nothing, so there was nothing to judge" in report(run)
