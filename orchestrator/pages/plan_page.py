"""Reference page of plans: every table and every key, from the models."""

from __future__ import annotations

import functools
import inspect
from typing import Any, get_origin, get_type_hints

from pydantic import BaseModel

from orchestrator.pages.markdown import code, plain, table
from orchestrator.pages.type_names import bounds, default, tables_in, words
from orchestrator.plan import Plan
from orchestrator.plan.changeable_keys import LINK_KEYS, QUEUE_KEYS
from orchestrator.plan.former_names import REMOVED_IN, former_of
from orchestrator.plan.model_introspection import field_texts, kind_of
from orchestrator.plan.network_fabric import FABRICS, KEY
from orchestrator.plan.plan_tables import PluginTable
from orchestrator.plan.units import DURATION, RATE, RATIO_ACCEPTED, SIZE, Quantity

INTRODUCTION = """# The plan

A plan is a TOML file (`tailback plans quickstart` prints one), or the same tables in Python:
`Plan(name="mine", duration="2s", nodes=..., links=...)`. An unknown key is an error, as is a value
out of its bounds; all mistakes are reported at once. `plan.toml` in a run's folder has the plan
with every default written out. Any key can be set from the command line by its path:
`--set nodes.switch.service_rate=400Mb/s`.

## Values

{units}

A *ratio* is exact: {ratio}. A *name* has 1 to 63 letters, digits, `-` and
`_`, the first no sign. A *plugin* is a table with `plugin`, perhaps `preset`, and any parameters of
that plugin ([Algorithms](algorithms.md)). Nothing is rounded: a value that is no whole number of B,
ps or b/s is an error.

A range in the name of a node, link or traffic entry makes one for every number:
`[nodes."h{{1..64}}"]`; `{{}}` in its keys and texts is that number, `{{+1}}` and `{{-1}}` the next
and the last one. In `from`, `to` and groups, `"h{{1..64}}"` stands for the list of the names.

## Said once

What several tables or plans have in common is written once. `tailback plans NAME --resolved` prints
what comes of it, and a run folder keeps that.

{once}

## What can change during a run

A step of the timeline, and the console, can set:

- of a switch, of one port of it (`nodes.switch.ports.sink.…`) or of its inputs: {queue} and the
  parameters of the plugins there;
- of a NIC: the parameters of its `reaction_point`;
- of a link: {link} and the parameters of its `delay_line`, or of `delay_line[0]` and so on where
  that is a list;
- of a traffic entry: the parameters of its plugin.
"""

ONCE = (
    (
        "fabric",
        "table of kind leaf-spine or fat-tree, below",
        '`fabric = { kind = "fat-tree", k = 4, rate = "10Gb/s" }`',
        "the nodes and links of a whole network; the plan's own go over them by name, "
        '`[nodes."h{1..16}"]`, and lists name each level, `from = "{hosts}"`',
    ),
    (
        "templates",
        "tables by name",
        '`[templates.host]`, `kind = "nic"`',
        "tables that others are like",
    ),
    (
        "like",
        "in a node, link, traffic entry, phase, step, expectation, figure, program or template",
        '`like = "host"`',
        "this table is laid over that template: tables within go together, own keys win",
    ),
    (
        "lists",
        "lists by name",
        '`[lists]`, `net = ["a", "b{1..2}"]`',
        "words, or ranges of them, for names in braces: `{net}-switch` makes one table for each, "
        "and `{net}` in it is the word",
    ),
    (
        "base",
        "name of a plan or path of a file",
        '`base = "quickstart"`',
        "this plan is laid over that one: an entry goes over the one of its name, an expectation "
        "over the one with its `metric`, `of`, `phase` and `relative_to`; steps come behind; "
        "templates and lists of the base can be used and changed",
    ),
    (
        "without",
        "list of keys of the base",
        '`without = ["expect", "nodes.h{3..4}"]`',
        "what is not taken over from the base",
    ),
    (
        "scale",
        "ratio more than 0, with a base",
        '`scale = 100`, `scale = "1/10"`',
        "multiplies the rates of the base and divides its times, where they are texts with a "
        "unit; sizes, counts, ratios and what presets say stay, as does what this plan says",
    ),
)
"""Keys that are expanded when a plan is read, so that no model has them: key, value, example,
effect (orchestrator.plan.network_fabric, templates, ranges, layers, taking, scale)."""

INLINE = (PluginTable,)
"""Tables that the introduction explains."""


def page() -> str:
    """The whole page."""
    rows = [
        (of.name, ", ".join(map(code, of.written)), code(of.example), _also(of))
        for of in (SIZE, DURATION, RATE)
    ]
    head = ("quantity", "units", "example", "also read")
    parts = [
        INTRODUCTION.format(
            units=table(head, rows),
            ratio=RATIO_ACCEPTED.removeprefix("write a ratio such as "),
            queue=", ".join(map(code, QUEUE_KEYS)),
            link=", ".join(map(code, LINK_KEYS)),
            once=table(
                ("key", "value", "example", "meaning"),
                [(code(key), *texts) for key, *texts in ONCE],
            ),
        )
    ]
    parts += [_section(path, model) for path, model in sections()]
    return "\n".join(parts)


@functools.cache
def sections() -> list[tuple[str, type[BaseModel]]]:
    """(path, model) of every table of a plan, each before those that it holds.

    A model that several tables hold has a section in the first of them only.
    """
    found: list[tuple[str, type[BaseModel]]] = []
    waiting: list[tuple[str, type[BaseModel]]] = [("", Plan), *((KEY, one) for one in FABRICS)]
    while waiting:
        path, model = waiting.pop(0)
        if model in INLINE or model in [seen for _, seen in found]:
            continue
        found.append((path, model))
        below = [
            (_path(path, key, annotation), inner)
            for key, annotation in types_of(model).items()
            for inner in tables_in(annotation)
        ]
        waiting = below + waiting
    return found


def types_of(model: type[BaseModel]) -> dict[str, Any]:
    """Key as in a plan -> its annotated type."""
    hints = get_type_hints(model, include_extras=True)
    return {field.alias or name: hints[name] for name, field in model.model_fields.items()}


def _path(path: str, key: str, annotation: Any) -> str:
    dotted = f"{path.strip('[]')}.{key}" if path else key
    if get_origin(annotation) is dict:
        return f"{dotted}.NAME"
    return f"[{dotted}]" if get_origin(annotation) is list else dotted


def _section(path: str, model: type[BaseModel]) -> str:
    title = f"`[{path}]`" if path else "At the top"
    if (kind := kind_of(model)) is not None:
        title += f' with `kind = "{kind}"`'
    said = plain(inspect.cleandoc(model.__doc__ or "")) if path else "Before the first table."
    texts, types = field_texts(model), types_of(model)
    rows = []
    for name, field in model.model_fields.items():
        key = field.alias or name
        of = types[key]
        rows.append(
            (
                code(key),
                plain(words(of)),
                default(of, field),
                bounds(of, field),
                plain(texts.get(name, "")),
            )
        )
    head = ("key", "type", "default", "accepted", "meaning")
    renamed = [(code(old), code(new)) for old, new in former_of(model).items()]
    former = table((f"former name, until {REMOVED_IN}", "now"), renamed) if renamed else ""
    return f"## {title}\n\n{said}\n\n{table(head, rows)}" + (former and f"\n{former}")


def _also(quantity: Quantity) -> str:
    """A few of the other accepted spellings; a rate has many."""
    return ", ".join(map(code, list(quantity.also_read)[:6]))
