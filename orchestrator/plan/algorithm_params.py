"""Parameters of an algorithm: a pydantic model with units that becomes an int64 record.

    class CpParams(Params):
        presets = {"netfpga": {"set_point": "33KB"}}
        set_point: Size = Field(26_000, gt=0, description="queue length the CP aims at (Q_eq)")
        weight: int = Field(2, ge=0, le=64, description="weight of the queue's growth (w)")

Fields are of type Size, Duration, Rate, Ratio, int, bool, Literal of texts or a file (see
`Loaded`): everything a kernel reads is an int64 (a Ratio is two, <name>_num and <name>_den; a
Literal is its index).
Python code may hand over ints in base units; a text (a plan, the command line) needs the unit.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args, get_origin

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic.fields import FieldInfo as ModelField

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import former_names, units
from orchestrator.plan.file_cache import cached_per_file
from orchestrator.plan.input_problems import Clash, join, near, shown, unknown
from orchestrator.plan.pydantic_errors import translate
from orchestrator.plan.quantity_types import Duration as Duration
from orchestrator.plan.quantity_types import Rate as Rate
from orchestrator.plan.quantity_types import Ratio as Ratio
from orchestrator.plan.quantity_types import Size as Size
from orchestrator.plan.quantity_types import (
    boolean_text,
    file_of_plan,
    file_refusal,
    files_count,
    integer_text,
)
from orchestrator.plan.quantity_types import without_files as without_files

FROM_TEXT = {"bare_numbers": False}
"""Validation context of values that a person wrote: sizes, durations and rates need a unit."""


@dataclass(frozen=True)
class RatioLimit:
    """Marks a Ratio, for `Annotated[Ratio, Parts(most)]`: neither its numerator nor its denominator
    is above `most`, so that a kernel's products with them fit an int64."""

    most: int


@dataclass(frozen=True)
class Loaded:
    """Marks a text parameter that names a file, for `Annotated[str, *from_file(load)]`.

    `load` makes int64[rows, columns] of it, once for each state of the file. Kernels get its
    address and its rows (<name>_address, <name>_rows), and read it with
    `orchestrator.engine.jit.word_at`.
    """

    load: Callable[[str], np.ndarray[Any, Any]]


def from_file(load: Callable[[str], np.ndarray[Any, Any]]) -> tuple[Any, ...]:
    """Annotations of a parameter that names a file, read by `load`. The path is made absolute; a
    relative one counts from the plan's folder, then from the working directory."""

    def check(value: object) -> str:
        if not files_count():
            raise ValueError("a plan that came from another machine cannot name a file of this one")
        if not isinstance(value, str) or not file_of_plan(value).is_file():
            raise ValueError("the path of a file is expected, absolute or relative to the plan")
        path = str(file_of_plan(value).resolve())
        if refusal := file_refusal(path):
            raise ValueError(f"names {value}, {refusal}")
        return path

    return BeforeValidator(check), Loaded(cached_per_file(load))


@dataclass(frozen=True)
class FieldInfo:
    """One parameter as it is shown to people: `default_text` is None when it must be given."""

    name: str
    unit: str
    default_text: str | None
    bounds: str
    help: str


class Sender(NamedTuple):
    """A NIC that sends flows of a traffic entry, for an estimate of how many frames it will."""

    span: int
    """Ps in which its sources may be on."""
    link_rate: int
    """bit/s of its fastest link."""
    frame: int
    """Octets of a full frame."""
    headers: int
    """Octets of each frame that are no part of a message."""
    flows: int
    """Of the entry, that begin at this NIC."""
    all_flows: int
    """Of the entry."""

    def frames_at(self, rate: int | Fraction) -> int:
        """Frames of that length in its time at a rate (bit/s)."""
        return int(rate * self.span // (8 * 10**12 * self.frame)) + 1

    def frames_of(self, size: int) -> int:
        """Frames of a message of so many octets."""
        return -(-size // max(self.frame - self.headers, 1))


class Params(BaseModel):
    """Base of the parameters of every algorithm; frozen, unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)

    presets: ClassVar[dict[str, dict[str, Any]]] = {}
    """Named sets of values; what a preset does not name keeps its default."""
    former: ClassVar[dict[str, str]] = {}
    """Former names of parameters, accepted for one release -> their names."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Refuses, where the plugin is imported, fields that no int64 record can hold."""
        super().__pydantic_init_subclass__(**kwargs)
        for name, model_field in cls.model_fields.items():
            kind = model_field.annotation
            choice = get_origin(kind) is Literal and all(isinstance(c, str) for c in get_args(kind))
            if kind not in (int, bool, Fraction) and not choice and not _loaded(model_field):
                raise TypeError(
                    f"{cls.__name__}.{name}: {kind} is no type of a parameter; "
                    "use Size, Duration, Rate, Ratio, int, bool, Literal of texts or a file"
                )
            if name in ("plugin", "preset"):
                raise TypeError(f"{cls.__name__}.{name}: plans use this key themselves; rename it")
        former_names.check_declaration(cls, cls.model_fields)

    @model_validator(mode="before")
    @classmethod
    def _accept_former(cls, data: Any) -> Any:
        former = former_names.former_of(cls)
        if not former or not isinstance(data, dict):
            return data
        return former_names.current_keys(data, former, f"{cls.__name__}: parameter")

    @field_validator("*", mode="before")
    @classmethod
    def _read_text(cls, value: object, info: ValidationInfo) -> object:
        model_field = cls.model_fields[str(info.field_name)]
        if model_field.annotation is int and _quantity(model_field) is None:
            return integer_text(value)
        return boolean_text(value) if model_field.annotation is bool else value

    @field_validator("*", mode="after")
    @classmethod
    def _fits(cls, value: object, info: ValidationInfo) -> object:
        if isinstance(value, int) and abs(value) >= units.LIMIT:
            raise ValueError("a whole number is below 2^62")
        for mark in cls.model_fields[str(info.field_name)].metadata:
            if not isinstance(mark, RatioLimit) or not isinstance(value, Fraction):
                continue
            if max(value.numerator, value.denominator) > mark.most:
                name = info.field_name
                raise ValueError(f"'{name}' has to be a ratio of numbers up to {mark.most}")
        return value

    @classmethod
    def from_table(cls, table: dict[str, Any], where: str = "", *, bare: bool = False) -> Self:
        """Parameters of a plan's table: `preset` first, then the other keys (`plugin` is skipped).

        `where` is the table's key path; `bare` accepts ints in base units (a table written in
        Python). Raises BadInput with every problem found.
        """
        former = former_names.former_of(cls)
        values = {key: value for key, value in table.items() if key not in ("plugin", "preset")}
        both: list[Problem] = [
            Clash(join(where, old), values[old], former_names.both_text(old, new))
            for old, new in former_names.clashes(values, former)
        ]
        if both:
            raise BadInput(where or cls.__name__, both)
        called = table.get("plugin") or cls.__name__
        values = former_names.current_keys(values, former, f"{called}: parameter")
        preset = table.get("preset")
        problems: list[Problem] = []
        start: dict[str, Any] = {}
        if isinstance(preset, str) and preset in cls.presets:
            start = {name: cls._as_text(name, v) for name, v in cls.presets[preset].items()}
        elif isinstance(preset, str):
            problems.append(unknown(join(where, "preset"), "preset", preset, cls.presets))
        elif preset is not None:
            problems.append(Problem(join(where, "preset"), shown(preset), near("", cls.presets)))
        try:
            params = cls.model_validate(start | values, context={"bare_numbers": bare})
        except ValidationError as error:
            problems += translate(error, cls, values, where)
        if problems:
            raise BadInput(where or cls.__name__, problems)
        return params

    def changed(self, name: str, value: object, where: str = "", *, bare: bool = False) -> Self:
        """These parameters with one of them changed and all of them validated again."""
        name = former_names.former_of(type(self)).get(name, name)
        return self.from_table(self.to_table() | {name: value}, where, bare=bare)

    def to_table(self) -> dict[str, Any]:
        """Every parameter as a plan writes it: texts with units, ints, bools."""
        return self.model_dump()

    @classmethod
    def record_fields(cls, name: str) -> list[str]:
        """Names of the record's fields that hold parameter `name`. Raises KeyError."""
        model_field = cls.model_fields[name]
        if _loaded(model_field):
            return [f"{name}_address", f"{name}_rows"]
        return [f"{name}_num", f"{name}_den"] if _is_ratio(model_field) else [name]

    def record_values(self, name: str) -> list[int]:
        """Values of those fields, in the same order."""
        value = getattr(self, name)
        if isinstance(value, int):
            return [int(value)]
        if isinstance(value, Fraction):
            return [value.numerator, value.denominator]
        if loaded := _loaded(type(self).model_fields[name]):
            table = loaded.load(value)
            return [table.ctypes.data, len(table)]
        if isinstance(value, str):
            return [get_args(type(self).model_fields[name].annotation).index(value)]
        return [int(value)]

    @classmethod
    def dtype(cls) -> np.dtype[np.void]:
        """The record that kernels read, every field an int64, in the order of the model."""
        return _record_of(cls)

    def record(self) -> np.ndarray[Any, Any]:
        """The values, as one record: shape (1,)."""
        values = (part for name in type(self).model_fields for part in self.record_values(name))
        return np.array([tuple(values)], dtype=self.dtype())

    def keeps_units(self) -> bool:
        """True if a congestion point with these parameters may ask for a frame by its place in the
        buffer (see orchestrator.algorithm), which then keeps track of its units."""
        return False

    def needless(self) -> frozenset[str]:
        """Events, by their names, whose kernels do nothing with these parameters and answer 0: they
        need not be called while the parameters stay (so far the engine asks it of `departure`)."""
        return frozenset()

    def needless_unless_pausing(self) -> frozenset[str]:
        """Events, by their names, whose kernels do nothing with these parameters and answer 0 while
        the buffer does not stop its neighbours (`queue.pausing` is 0): they need not be called then
        (so far the engine asks it of `departure` and `dequeue`, at inputs)."""
        return self.needless()

    def marks(self) -> bool:
        """True if a congestion point with these parameters marks frames: inputs count it then."""
        return False

    def marking_curve(self) -> list[tuple[int, float]] | None:
        """Points (octets in the queue, chance that a frame is marked) that a congestion point with
        these parameters is set to mark by, linear in between, the last one for all longer queues;
        None: not by the queue's length alone. Reports draw it beside what a run measured."""
        return None

    def goes_on_in(self) -> tuple[int, ...]:
        """Priorities that a congestion point with these parameters sends frames on in, or a
        notification point its CNPs in, beside that of the data frame."""
        return ()

    def unfit_for(self, priorities: tuple[int, ...]) -> str | None:
        """Why a scheduler with these parameters cannot serve ports whose lanes have these
        `priorities` (0 to 7 each), or a NIC whose flows have these classes, with what would be
        accepted; None: it can."""
        return None

    def least_limit(self, capacity: int) -> int:
        """Octets that a buffer of `capacity` octets may always hold, whatever the other buffers in
        its shared memory hold, with these parameters of a buffer management."""
        return 0

    def operating_queue(self, rate: int) -> int | None:
        """Octets that a congestion point with these parameters holds a queue at that is served at
        `rate` (bit/s), or a reaction point by its delays where there is no such point, or above
        which a pause stops its neighbours; None: they name no such length.
        """
        return None

    def delay_margin(self, rate: int) -> int | None:
        """Ps that round trips may take longer on the mean, by chance and not by a queue, until a
        reaction point with these parameters loses as much of `rate` (bit/s) by it as it grows by in
        the same time; None: it does not go by delays.
        """
        return None

    def most_added(self) -> int | None:
        """Ps that a delay line with these parameters adds to its link's delay at the most: room for
        frames that are on their way is laid out by it. None: only its kernel knows.
        """
        return None

    def most_copies(self) -> int:
        """Copies that a delay line with these parameters adds to a frame at the most: room for
        them is laid out by it."""
        return 0

    def least_buffer(self) -> int:
        """Octets of the smallest buffer that a pause with these parameters can grant room of."""
        return 0

    def answered_within(self) -> int | None:
        """Ps after which a transport with these parameters takes for lost what was not answered,
        from the first frame on; None: it goes by round trips that it has measured."""
        return None

    def answer_delay(self) -> int:
        """Ps that the receiver of a transport with these parameters holds an acknowledgement back
        at the most."""
        return 0

    def sends_ect(self) -> bool:
        """True if a reaction point with these parameters has its flows sent as ECN-capable, or a
        transport or traffic sends such frames and answers marks by itself."""
        return False

    def stamped_hops(self) -> int:
        """Number of ports' stamps that segments of a reaction point with these parameters have room
        for."""
        return 0

    def least_frame(self) -> int:
        """Octets of the shortest frame of a source whose frames have lengths of their own."""
        return 70

    def feedback_in_dscp(self) -> bool:
        """True if a congestion point with these parameters writes feedback into the upper six bits
        of a frame's TOS octet."""
        return False

    def sends_cnm(self) -> bool:
        """True if an algorithm with these parameters sends CNMs (IEEE 802.1Qau)."""
        return False

    def returns_headers(self) -> bool:
        """True if an algorithm with these parameters returns data frames' headers (P4QCN)."""
        return False

    def roce_operation(self) -> int:
        """Operation of the flows of a transport with these parameters (ROCE_WRITE, ROCE_SEND of
        orchestrator.engine.records), whose frames are then those of RoCEv2; NOT_ROCE: they are
        not."""
        return 0

    def largest_mtu(self) -> int:
        """Octets of the largest path MTU that a transport with RoCEv2 frames uses."""
        return 0

    def first_sequence(self) -> int:
        """Number of the first segment of a flow of a transport with these parameters."""
        return 0

    def frame_lengths(self) -> tuple[int, int] | None:
        """Octets of the first and of the longest frame of a source with these parameters. None:
        all are as long as the plan's `frame`."""
        return None

    def frames_offered(self, sender: Sender) -> int | None:
        """Frames that a NIC's sources with these parameters make at the most, on average. None: no
        fewer than its links carry."""
        return None

    def notes(self) -> list[str]:
        """Notes of a run with these parameters, one sentence each."""
        return []

    @classmethod
    def _as_text(cls, name: str, value: Any) -> Any:
        """A preset's value as a plan would write it: presets may give ints in base units."""
        quantity = _quantity(cls.model_fields[name]) if name in cls.model_fields else None
        return quantity.format(value) if quantity and isinstance(value, int) else value

    @classmethod
    def describe(cls) -> list[FieldInfo]:
        """The parameters for people: what `tailback plugins` lists."""
        return [describe_field(name, model_field) for name, model_field in cls.model_fields.items()]


class EcnParams(Params):
    """Parameters of a reaction point whose switches mark ECN-capable frames."""

    def sends_ect(self) -> bool:
        """Always."""
        return True


@functools.cache
def _record_of(cls: type[Params]) -> np.dtype[np.void]:
    """The record of a class; a plan has thousands of instances of a few."""
    names = [part for name in cls.model_fields for part in cls.record_fields(name)]
    return np.dtype([(name, np.int64) for name in names])


def _is_ratio(model_field: ModelField) -> bool:
    return model_field.annotation is Fraction


def _loaded(model_field: ModelField) -> Loaded | None:
    return next((mark for mark in model_field.metadata if isinstance(mark, Loaded)), None)


def _quantity(model_field: ModelField) -> units.Quantity | None:
    return next((m.quantity for m in model_field.metadata if isinstance(m, units.UnitOf)), None)


def _text(value: object, quantity: units.Quantity | None) -> str:
    if isinstance(value, Fraction):
        return units.format_ratio(value)
    if isinstance(value, bool):
        return str(value).lower()
    return quantity.format(value) if quantity and isinstance(value, int) else str(value)


def describe_field(name: str, model_field: ModelField) -> FieldInfo:
    """One field for people: its unit, its default, its bounds."""
    quantity, kind = _quantity(model_field), model_field.annotation
    signs = {"gt": ">", "ge": ">=", "lt": "<", "le": "<="}
    bounds = [
        f"{sign} {_text(getattr(mark, attribute), quantity)}"
        for mark in model_field.metadata
        for attribute, sign in signs.items()
        if hasattr(mark, attribute)
    ]
    if get_origin(kind) is Literal:
        bounds = [" | ".join(get_args(kind))]
    names = {int: "int", bool: "bool", Fraction: "ratio", str: "file"}
    unit = quantity.base if quantity else names.get(kind, "choice")  # type: ignore[arg-type]
    default = None if model_field.is_required() else _text(model_field.default, quantity)
    return FieldInfo(name, unit, default, ", ".join(bounds), model_field.description or "")
