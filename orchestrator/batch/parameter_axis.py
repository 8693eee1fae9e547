"""Axis of one free parameter, written KEY=RANGE: its values and their positions.

    nodes.t4.buffer=8KB..256KB          both ends and all values between
    nodes.t4.buffer=8KB..256KB/6:log    six of them, each the same factor above the last
    traffic.{a,b}.frame=64..1500/8:int  whole numbers, of two keys at once
    nodes.a.pause.high & nodes.b.pause.high=8KB,16KB
                                        a list; both keys have the same value

Values between the ends are rounded to four digits, unless they are short anyway; quantities with a
unit are whole numbers of their base unit always. The number after the last `/` is the count of
values, so that a ratio in a range is written as a decimal.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import shown
from orchestrator.plan.units import DURATION, RATE, SIZE, Quantity, UnitError

LINEAR, LOG, LIST = "linear", "log", "list"
Names = Mapping[str, str]
NO_NAMES: Names = {}
MOST = 10_000
"""Most values of one parameter."""
DIGITS = 4
_RANGE = re.compile(r"(?P<low>.+?)\.\.(?P<high>[^:]+?)(?:/(?P<count>\d{1,6}))?(?P<how>(?::\w+)*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_AND = re.compile(r"\s*&\s*(?![^{]*\})")
ACCEPTED = (
    "KEY=RANGE is expected: 8KB..256KB, 8KB..256KB/6 (six values), 8KB..256KB/6:log, 1..9:int "
    f"(whole numbers), or a list 8KB,16KB,64KB; at most {MOST} values"
)


@dataclass(frozen=True)
class Value:
    """One value: `text` as in the plan, `number` as its position on an axis."""

    text: str
    number: float


@dataclass(frozen=True)
class Axis:
    """Free parameter, made by `read_axis`; with `count` None it has no steps of its own."""

    label: str
    """The keys as they were written."""
    keys: tuple[str, ...]
    spacing: str
    low: Fraction = Fraction(0)
    high: Fraction = Fraction(1)
    count: int | None = None
    quantity: Quantity | None = None
    whole: bool = False
    listed: tuple[Value, ...] = ()

    @property
    def unit(self) -> str:
        """The base unit of its numbers; "" where they have none."""
        return self.quantity.base if self.quantity else ""

    @property
    def words(self) -> bool:
        """True if its values are categorical: words, or numbers of several kinds."""
        numbers = (_is_number(value.text) for value in self.listed)
        return self.spacing == LIST and self.quantity is None and not all(numbers)

    def values(self, count: int | None = None) -> list[Value]:
        """Its values in order, each once; `count` applies to a range without a count."""
        if self.spacing == LIST:
            return list(self.listed)
        steps = self.count or count or 2
        every = [self.at(Fraction(step, steps - 1)) for step in range(steps)]
        return list({value.text: value for value in every}.values())

    def at(self, share: Fraction | float) -> Value:
        """The value at a position from 0 to 1: one of its steps, or any between its ends."""
        if self.spacing == LIST:
            return self.listed[min(int(share * len(self.listed)), len(self.listed) - 1)]
        if self.spacing == LOG and 0 < share < 1:
            exact = self.low * Fraction(float(self.high / self.low) ** float(share))
            return self._value(exact, exact_enough=False)
        return self._value(self.low + (self.high - self.low) * Fraction(share))

    def picked(self, share: float) -> Value:
        """As `at`, but only steps where it has a count: used by samples of the ranges."""
        if self.spacing == LIST or self.count is None:
            return self.at(share)
        steps = self.values()
        return steps[min(int(share * len(steps)), len(steps) - 1)]

    def settings(self, value: Value) -> list[str]:
        """Settings KEY=VALUE that give its keys a value."""
        return [f"{key}={value.text}" for key in self.keys]

    def number(self, text: str) -> float:
        """Position of a value that a user wrote. Raises ValueError."""
        if self.words:
            return next(value.number for value in self.listed if value.text == text)
        return float(_quantity(text)[0])

    def _value(self, exact: Fraction, exact_enough: bool = True) -> Value:
        short = (exact * 10**6).denominator == 1 and exact_enough
        if not short or (self.quantity and exact.denominator != 1):
            exact = _rounded(exact)
        if self.quantity or self.whole:
            exact = Fraction(round(exact))
        if self.quantity:
            return Value(self.quantity.format(int(exact)), float(exact))
        return Value(f"{float(exact):.10g}", float(exact))


def read_axis(text: str, said: str = "--free", names: Names = NO_NAMES) -> Axis:
    """The parameter that KEY=RANGE means. Raises BadInput, which names the option `said`.

    `names` maps short names to keys, `KEY & KEY` where one stands for several.
    """
    label, sign, ranged = (part.strip() for part in text.partition("="))
    keys = tuple(_AND.split(names.get(label, label)))
    try:
        if not sign or not ranged or not all(keys):
            raise ValueError(ACCEPTED)
        if ".." not in ranged:
            values, quantity = _listed(ranged)
            return Axis(label, keys, LIST, quantity=quantity, listed=values)
        return _ranged(label, keys, ranged)
    except ValueError as error:
        raise BadInput(said, [Problem(said, shown(text), str(error))]) from None


def read_axes(texts: Sequence[str], said: str = "--free", names: Names = NO_NAMES) -> list[Axis]:
    """Several, each with keys of its own. Raises BadInput."""
    axes = [read_axis(text, said, names) for text in texts]
    keys = [key for axis in axes for key in axis.keys]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise BadInput(said, [Problem(said, shown(twice), "each key once is expected")])
    return axes


def _ranged(label: str, keys: tuple[str, ...], text: str) -> Axis:
    match = _RANGE.fullmatch(text)
    how = set(match["how"].split(":")[1:]) if match else set()
    if match is None or how - {LINEAR, LOG, "int"} or {LINEAR, LOG} <= how:
        raise ValueError(ACCEPTED)
    (low, first), (high, other) = _quantity(match["low"]), _quantity(match["high"])
    if first is not other and 0 not in (low, high):
        raise ValueError("both ends with the same kind of unit are expected")
    count = int(match["count"]) if match["count"] else None
    if low >= high:
        raise ValueError("the lower end first, and a higher one, are expected")
    if count is not None and not 2 <= count <= MOST:
        raise ValueError(f"2 to {MOST} values are expected")
    spacing = LOG if LOG in how else LINEAR
    if spacing == LOG and low <= 0:
        raise ValueError("a logarithmic range begins above 0")
    return Axis(label, keys, spacing, low, high, count, first or other, "int" in how)


def _listed(text: str) -> tuple[tuple[Value, ...], Quantity | None]:
    """Values of a list, and their quantity, where all are of one."""
    words = [word.strip() for word in _commas(text)]
    if not all(words) or len(words) > MOST or len(set(words)) < len(words):
        raise ValueError(f"{ACCEPTED}, each once")
    for word in words:
        _check_digits(word)
    try:
        found = [_quantity(word) for word in words]
    except ValueError:
        found = []
    quantities = {id(quantity): quantity for number, quantity in found if number}
    if not found or len(quantities) > 1:  # words, or numbers that do not lie on one axis
        return tuple(Value(word, float(at)) for at, word in enumerate(words)), None
    ordered = sorted(zip(words, found, strict=True), key=lambda pair: pair[1][0])
    values = tuple(Value(word, float(number)) for word, (number, _) in ordered)
    return values, next(iter(quantities.values()), None)


def _commas(text: str) -> list[str]:
    """Items between the commas outside brackets and quotes."""
    return re.findall(r"(?:[^,\[{\"]|\[[^\]]*\]|\{[^}]*\}|\"[^\"]*\")+|(?<=,)(?=,|$)|^(?=,)", text)


MOST_DIGITS = 60
"""Characters of a number; a longer one has no float, and no such value is accepted anywhere."""


def _check_digits(text: str) -> None:
    """Raises ValueError for a number that is too long; a word may have any length."""
    if len(text) > MOST_DIGITS and re.match(r"[-+]?[0-9.]+[0-9]", text):
        raise ValueError(f"a number of at most {MOST_DIGITS} characters is expected")


def _quantity(text: str) -> tuple[Fraction, Quantity | None]:
    """Number in base units, and its quantity. Raises ValueError."""
    text = text.strip()
    _check_digits(text)
    if _NUMBER.fullmatch(text):
        return Fraction(text), None
    for quantity in (SIZE, DURATION, RATE):
        try:
            return Fraction(quantity.parse(text)), quantity
        except UnitError:
            continue
    raise ValueError(ACCEPTED)


def _is_number(text: str) -> bool:
    return _NUMBER.fullmatch(text) is not None


def _rounded(exact: Fraction) -> Fraction:
    """Rounded to DIGITS significant digits."""
    if not exact:
        return exact
    places = DIGITS - 1 - math.floor(math.log10(abs(exact)))
    return Fraction(round(exact * Fraction(10) ** places)) / Fraction(10) ** places
