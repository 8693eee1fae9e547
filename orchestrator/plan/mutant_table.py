"""[[mutant]]: the plan with something broken, which its expectations have to notice."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, model_validator

from orchestrator.plan.field_types import Line, Slug
from orchestrator.plan.plan_tables import Table

Keys = Annotated[list[Line], Field(default=[], max_length=10_000)]


class Mutant(Table):
    """A change that breaks what the plan shows: `tailback mutate` runs the plan with it, and at
    least one expectation, or those it names, must be missed."""

    former: ClassVar[dict[str, str]] = {"misses": "expected_misses", "same": "equivalent"}

    name: Slug
    """Of its own within the plan."""
    set: dict[Line, Any] = Field(default={}, max_length=10_000)
    """Dotted keys of the plan, in quotes, and their new values; a key may have ranges."""
    drop: Keys
    """Dotted keys of the plan that are taken out; a key may have ranges."""
    expected_misses: Keys
    """The expectations that must be missed: each by its `name`, or as `METRIC of ENTITY in PHASE`
    with as much of that as tells it from the others. Default: any one."""
    equivalent: Line = ""
    """Why this figure cannot tell it from the plan: it is run and listed, and must be met."""
    seeds: int = Field(default=1, ge=1, le=100)
    """How many seeds it takes to tell it from the plan: of these, more than half have to miss."""
    survives: Line = ""
    """Why no expectation catches it though it changes the figure: it counts as not caught."""
    note: Line = ""
    """The mechanism that it breaks, for people."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if not self.set and not self.drop:
            raise ValueError("'set' or 'drop' is expected, or both")
        if self.equivalent and self.expected_misses:
            raise ValueError(
                "'equivalent' says that it misses nothing; 'expected_misses' names what it misses"
            )
        if self.survives and (self.expected_misses or self.equivalent):
            raise ValueError(
                "'survives' says that nothing catches it: without 'expected_misses' or 'equivalent'"
            )
        for key, value in self.set.items():
            if isinstance(value, dict) and "." not in key:
                raise ValueError(
                    f"'set' of all of {key[:60]!r}; a dotted key in quotes is expected, such as "
                    '"nodes.switch.buffer"'
                )
        return self
