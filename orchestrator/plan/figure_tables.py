"""[[figure]]: figures that a report draws of a run, as the paper draws them.

A figure says nothing of what happens in a run: it is kept with the plan (a report is made again
from a run folder alone), and is no part of what two runs are compared by (`canonical.essence`).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from orchestrator.plan.field_types import Instant, Line, SampleInterval, Scalar, Slug
from orchestrator.plan.former_names import current_metric
from orchestrator.plan.plan_tables import Table

MOST_NAMES = 1000
"""Curves, labels or levels of one figure."""


def _lines(value: Any) -> Any:
    """A text, or a list of texts, as a list."""
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise ValueError("a text or a list of texts is expected")
    if len(texts) > MOST_NAMES or any(len(text) > 1000 for text in texts):
        raise ValueError(f"at most {MOST_NAMES} texts of at most 1000 characters are expected")
    return texts


Lines = Annotated[Any, AfterValidator(_lines)]
"""One text, or a list of texts; names in it may have ranges and lists."""
Bounds = Annotated[list[Scalar], Field(min_length=2, max_length=2)]


class Published(Table):
    """Values that the paper prints, laid over what the run came to."""

    label: Line = ""
    """The curve that they belong to, by its label; none: they stand for themselves."""
    values: list[Scalar] = Field(min_length=1, max_length=MOST_NAMES)
    """One; or one for each place of the axis, in order. With the unit of what is drawn."""
    from_: Instant | None = Field(default=None, alias="from")
    """Start of the value on a time axis; default: the beginning."""
    to: Instant | None = None
    """Until when; default: the end."""
    note: Line = ""
    """Remark of the paper on it."""


class Figure(Table):
    """A panel of a figure of the paper; panels of one `title` make one figure, in their order."""

    title: Line = ""
    """Figure of the paper; default: that of the plan's `paper`."""
    panel: Line = ""
    """Title of this panel."""
    caption: Line = ""
    """Caption below the figure."""
    kind: Literal["lines", "bars", "cdf", "table"] = "lines"
    """lines: over time, or with a mark at every place. cdf: the share of samples within `phase`
    that are not larger; of `latency_s` the share of frames."""
    x: Literal["time", "phase", "of"] = "time"
    """Quantity of the x axis: time; `phases`; or entities, all those of the first label, then
    those of the next."""
    y: Annotated[Line, AfterValidator(current_metric)]
    """Quantity drawn: over time and of a cdf a sampled one, else a metric."""
    of: Lines
    """The entities, in order. `NAME of PLAN` is one of the newest run of another plan that lies
    beside this run."""
    labels: Lines = Field(default=[])
    """The paper's names of the curves; default: those of results."""
    phases: Lines = Field(default=[])
    """With x = "phase": which, in order; default: all of the plan."""
    phase: Slug = "run"
    """The part of the run that is drawn, or whose metrics are."""
    levels: Lines = Field(default=[])
    """Labels of the ticks of the axis, unless it is time."""
    x_label: Line = ""
    """Label of the x axis; default: time, phase."""
    y_label: Line = ""
    """Label of the y axis, without unit; default: the name of `y`."""
    x_unit: Line = ""
    """Of a time axis: s, ms, us, ns; default: by magnitude."""
    y_unit: Line = ""
    """Such as Gb/s, KB, ms or %; default: by magnitude."""
    x_range: Bounds | None = None
    """Both ends of a time axis: ["0s", "300ms"]."""
    y_range: Bounds | None = None
    """Both ends of the other axis, with their unit."""
    window: SampleInterval | None = None
    """Averaging window of rates over time; default: a hundredth of the run, at most 50 ms."""
    with_: Lines = Field(default=[], alias="with")
    """Plans: of the newest run of each beside this run there is a panel, in this order. Without
    this plan's own name it comes first."""
    variants: Lines = Field(default=[])
    """The paper's names of the plans of `with`."""
    published: list[Published] = Field(default=[])
    """Values that the paper prints."""
