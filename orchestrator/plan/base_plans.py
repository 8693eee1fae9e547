"""Layers of a plan: the plans that it is based on, read from their files, the lowest first.

`base = "quickstart"` names a shipped plan or one beside this file, `base = "nets/ring.toml"` a file
by its path from this one, or from where shipped plans are (so that a copy of one still loads).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import former_names
from orchestrator.plan.expansion_budget import MOST_BASES
from orchestrator.plan.input_problems import Clash, shown, unknown
from orchestrator.plan.name_ranges import VALUE
from orchestrator.plan.quantity_types import files_count
from orchestrator.plan.toml_text import parse, read_file
from orchestrator.plan.units import DURATION, RATE, UnitError, parse_ratio

# Rate scaling: `scale = 100` over a base has its rates 100 times and its times a 100th.
#
# Every text of the base that is a rate with its unit is multiplied, every one that is a duration
# divided by the scale, exactly; sizes, ratios, counts, presets, and texts for people stay. So
# the same octets take the same number of frames: queues, thresholds and shares mean the same.

UNSCALED_KEYS = (
    "name",
    "title",
    "paper",
    "note",
    "caption",
    "equivalent",
    "same",
    "plugin",
    "preset",
    "like",
    "target",
    "command",
    "base",
    "prefix",
)
"""Keys whose texts are prose, names of algorithms, or commands."""
_UNIT = re.compile(r"[A-Za-z\u00b5\u03bc/]\s*$")


def scaled(value: Any, by: Fraction, where: str, problems: list[Problem]) -> Any:
    """A copy of a base's data at other rates; what cannot be scaled exactly is a problem."""
    if isinstance(value, dict):
        return {
            key: part if key in UNSCALED_KEYS else scaled(part, by, f"{where}.{key}", problems)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [scaled(part, by, f"{where}[{at}]", problems) for at, part in enumerate(value)]
    if not isinstance(value, str) or not _UNIT.search(value):
        return value
    if VALUE.search(value) and _read(VALUE.sub("1", value)):
        text = "a quantity without braces is expected, so that it can be scaled"
        problems.append(Problem(where.lstrip("."), shown(value), text))
        return value
    return _at_scale(value, by, where.lstrip("."), problems)


def _at_scale(text: str, by: Fraction, where: str, problems: list[Problem]) -> str:
    found = _read(text)
    if found is None:
        return text
    quantity, amount = found
    exact = amount * by if quantity is RATE else amount / by
    if exact.denominator == 1:
        return quantity.format(int(exact))
    accepted = f"a value that stays a whole number of {quantity.base} at scale {by} is expected"
    problems.append(Problem(where, text, accepted))
    return text


def _read(text: str) -> tuple[Any, Fraction] | None:
    """The quantity that a text is, and its base units; None for any other text."""
    for quantity in (RATE, DURATION):
        try:
            return quantity, Fraction(quantity.parse(text))
        except UnitError:
            continue
    return None


FILE = ".toml"


@dataclass(frozen=True)
class Layer:
    """The data of one file; `scale` is what everything below it is scaled by.

    `source` is what messages call it, `file` its path, `text` what it was read from.
    """

    source: str
    data: dict[str, Any]
    scale: Fraction = Fraction(1)
    file: str = ""
    text: str = ""


def layers(
    source: str,
    data: dict[str, Any],
    path: Path | None,
    shipped: Mapping[str, Path],
    text: str = "",
) -> list[Layer]:
    """A plan's layers, the lowest first, itself last. Raises BadInput.

    `path` is its file, where it has one; `shipped` are the plans known by name; `text` is what the
    data was read from.
    """
    found = [_layer(source, data, source, text)]
    at, seen = path, [path.resolve()] if path is not None else []
    while "base" in found[0].data:
        top = found[0]
        at = _find(top, at, shipped)
        if at.resolve() in seen or len(found) > MOST_BASES:
            text = f"at most {MOST_BASES} bases, without a circle, are expected"
            raise BadInput(top.source, [Clash("base", top.data["base"], text)])
        seen.append(at.resolve())
        called = f"{at} (a base of {source})"
        below = read_file(at, called)
        found.insert(0, _layer(called, parse(called, below), str(at), below))
    return found


def _layer(source: str, data: dict[str, Any], file: str, text: str) -> Layer:
    for key in ("scale", "without"):
        if key in data and "base" not in data:
            raise BadInput(source, [Clash(key, data[key], "this key needs a 'base'")])
    try:
        scale = parse_ratio(data.get("scale", 1))
    except UnitError as error:
        raise BadInput(source, [Problem("scale", shown(data["scale"]), str(error))]) from None
    if not scale:
        raise BadInput(source, [Problem("scale", data["scale"], "more than 0 is expected")])
    return Layer(source, data, scale, file, text)


def _find(layer: Layer, path: Path | None, shipped: Mapping[str, Path]) -> Path:
    """The file of a layer's base."""
    name = layer.data["base"]
    folder = path.parent if path is not None else Path()
    problem: Problem
    if not isinstance(name, str) or not 0 < len(name) <= 1000 or "\0" in name:
        problem = Problem("base", shown(name), "the name of a plan, or a file, is expected")
    elif not files_count():
        text = "a plan that came from another machine cannot name a file of this one"
        problem = Problem("base", shown(name), text)
    elif name in shipped:
        return Path(shipped[name])
    elif (current := former_names.PLANS.get(name)) in shipped:
        former_names.note("base: plan", name, str(current))
        return Path(shipped[str(current)])
    elif name.endswith(FILE) or "/" in name:
        folders = dict.fromkeys((folder, *(Path(file).parent for file in shipped.values())))
        for place in folders:
            if (place / name).is_file():
                return place / name
        problem = Problem("base", shown(name), f"a file below {folder.resolve()} is expected")
    elif (folder / f"{name}{FILE}").is_file():
        return folder / f"{name}{FILE}"
    else:
        beside = [file.stem for file in folder.glob(f"*{FILE}")] if path is not None else []
        problem = unknown("base", "plan", name, {*shipped, *beside})
    raise BadInput(layer.source, [problem])
