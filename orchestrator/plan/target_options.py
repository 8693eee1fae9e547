"""Options of a target: a pydantic model that the command line, plans and Python read alike.

    class HourglassOptions(TargetOptions):
        target = "hourglass"
        grains: int = Field(100, ge=1, description="parts that the run is cut into")
        pause: Duration = Field(0, description="pause after each part")

Fields are of type int, float, str, bool, Literal of texts, list[str], Size, Duration, Rate or
Ratio, or one of these or None; texts need a unit where the type has one. The field `grains` is
`--grains` on the command line, `grains` in the table [targets.hourglass] of a plan, and the key
"grains" of `tailback.run(…, options={…})`. A field with an alias has that name instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError, field_validator
from pydantic.fields import FieldInfo

from orchestrator.errors import BadInput, Problem
from orchestrator.plan.input_problems import Unknown, join, near
from orchestrator.plan.model_introspection import choices_of
from orchestrator.plan.pydantic_errors import translate
from orchestrator.plan.quantity_types import boolean_text, files_count, integer_text
from orchestrator.plan.units import UnitOf, format_ratio

KEY = "targets"
"""Table of a plan that has a table of options for each target."""
NOTHING: Mapping[str, Any] = {}


@dataclass(frozen=True)
class Metavar:
    """Marks an option with the word that stands for its value in `--help`."""

    text: str


def _file(value: object) -> object:
    if not files_count():
        raise ValueError("a plan that came from another machine cannot name a file of this one")
    return value


File = Annotated[str, BeforeValidator(_file), Metavar("FILE")]
"""Path of a file of this machine; a plan of another machine cannot have one."""


@dataclass(frozen=True)
class Option:
    """One option of one target, as it is shown to people."""

    target: str
    key: str
    """In a plan and in Python."""
    metavar: str
    """Word for its value; empty: it is true or false."""
    choices: tuple[str, ...]
    many: bool
    """True if it may be given several times."""
    default: Any
    default_text: str
    """With its unit; empty where the target decides, or it is false."""
    bounds: str
    """Such as "1 <= x"; empty: any value of its type."""
    help: str

    @property
    def flag(self) -> str:
        """On the command line."""
        return f"--{self.key.replace('_', '-')}"


class TargetOptions(BaseModel):
    """Base of the options of a target; frozen, unknown keys are refused."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, defer_build=True, allow_inf_nan=False
    )

    target: ClassVar[str] = ""
    """Name of the target whose options they are."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """Refuses, where the plugin is imported, fields that no option can be."""
        super().__pydantic_init_subclass__(**kwargs)
        for name, field in cls.model_fields.items():
            kind = _kind(field)
            choice = get_origin(kind) is Literal and all(isinstance(c, str) for c in get_args(kind))
            if kind not in (int, float, str, bool, Fraction, list[str]) and not choice:
                raise TypeError(
                    f"{cls.__name__}.{name}: {kind} is no type of an option; use int, float, str, "
                    "bool, Literal of texts, list[str], Size, Duration, Rate or Ratio"
                )
            if field.is_required():
                raise TypeError(f"{cls.__name__}.{name}: an option needs a default, such as None")

    @field_validator("*", mode="before")
    @classmethod
    def _read_text(cls, value: object, info: Any) -> object:
        """Values as the command line and plans write them."""
        field = cls.model_fields[info.field_name]
        kind = _kind(field)
        if kind is int and not _has_unit(field):
            return integer_text(value)
        if kind is float and isinstance(value, str):
            return _float_text(value)
        return boolean_text(value) if kind is bool else value

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str = "", *, bare: bool = False) -> Self:
        """Options of a table, which lies at the key path `where`.

        `bare` accepts ints in base units (a table written in Python). Raises BadInput with every
        problem found.
        """
        try:
            return cls.model_validate(dict(table), context={"bare_numbers": bare})
        except ValidationError as error:
            problems = translate(error, cls, table, where)
            raise BadInput(where or cls.__name__, problems) from None

    def to_table(self, *, given: bool = False) -> dict[str, Any]:
        """The options as a plan writes them, defaults written out; what is None is left out.

        `given`: only those that were given a value.
        """
        return self.model_dump(by_alias=True, exclude_none=True, exclude_unset=given)

    @classmethod
    def describe(cls) -> list[Option]:
        """The options for people, in the order of the model."""
        return [_described(cls.target, name, field) for name, field in cls.model_fields.items()]


Models = Mapping[str, type[TargetOptions]]
"""Target -> the model of its options."""


def _kind(field: FieldInfo) -> Any:
    """Type of a field without None and without marks."""
    return choices_of(field.annotation)[0]


def _marks(field: FieldInfo) -> Iterable[Any]:
    """Marks of a field, and those of its type where it may be None."""
    yield from field.metadata
    waiting = [field.annotation]
    for annotation in waiting:
        if get_origin(annotation) is Annotated:
            yield from get_args(annotation)[1:]
        if get_origin(annotation) not in (None, Literal):
            waiting += get_args(annotation)


def _has_unit(field: FieldInfo) -> bool:
    return any(isinstance(mark, UnitOf) for mark in _marks(field))


def _float_text(value: str) -> object:
    try:
        return float(value)
    except ValueError:
        return value


def _described(target: str, name: str, field: FieldInfo) -> Option:
    kind = _kind(field)
    choices = get_args(kind) if get_origin(kind) is Literal else ()
    words = {int: "N", float: "NUMBER", str: "TEXT", Fraction: "RATIO", list[str]: "TEXT", bool: ""}
    metavar = "|".join(choices) or words[kind]
    for mark in _marks(field):
        if isinstance(mark, UnitOf):
            metavar = mark.quantity.name.upper()
        elif isinstance(mark, Metavar):
            metavar = mark.text
    unit = next((mark for mark in _marks(field) if isinstance(mark, UnitOf)), None)
    default = "" if field.default in (None, False, [], "") else str(field.default)
    if unit is not None and isinstance(field.default, int):
        default = unit.quantity.format(field.default)
    if isinstance(field.default, Fraction):
        default = format_ratio(field.default)
    texts = "true" if default == "True" else default, _bounds(field, unit), field.description or ""
    many = kind == list[str]
    return Option(target, field.alias or name, metavar, choices, many, field.default, *texts)


def _bounds(field: FieldInfo, unit: UnitOf | None) -> str:
    found = dict.fromkeys(("ge", "gt", "le", "lt"), "")
    for mark in _marks(field):
        for name in found:
            value = getattr(mark, name, None)
            if value is not None:
                text = unit.quantity.format(int(value)) if unit else f"{value:g}"
                found[name] = text
    low = f"{found['ge']} <= " if found["ge"] else f"{found['gt']} < " if found["gt"] else ""
    high = f" <= {found['le']}" if found["le"] else f" < {found['lt']}" if found["lt"] else ""
    return f"{low}x{high}" if low or high else ""


def options_of(models: Models) -> list[Option]:
    """Every option of every target, in their order."""
    return [option for model in models.values() for option in model.describe()]


def foreign_text(models: Models, target: str, key: str) -> str:
    """Why a target does not take an option, and which targets do."""
    own = [each.key for each in models[target].describe()] if target in models else []
    others = [each.target for each in options_of(models) if each.key == key]
    if others:
        names = " and ".join([", ".join(others[:-1]), others[-1]] if others[1:] else others)
        having = f"{names} {'has' if len(others) == 1 else 'have'} it"
        more = f"{having}; leave it out, or run on {' or '.join(others)}"
    elif own:
        more = near(key, own)
    else:
        more = "it has none; leave it out"
    return f"target {target} does not take it: {more}"


def _problem(models: Models, target: str, problem: Problem) -> Problem:
    """A problem of an option; one that the target lacks names the targets that have it."""
    if not isinstance(problem, Unknown):
        return problem
    key = problem.where.rpartition(".")[2]
    return Unknown(problem.where, f"option {key!r}", foreign_text(models, target, key))


def read_options(
    models: Models, target: str, table: Mapping[str, Any], where: str, *, bare: bool = False
) -> TargetOptions:
    """Options of a target, in a table at the key path `where`. Raises BadInput.

    A target without a model has no options.
    """
    model = models.get(target, TargetOptions)
    try:
        return model.read(table, where, bare=bare)
    except BadInput as error:
        problems = [_problem(models, target, problem) for problem in error.problems]
        raise BadInput(where, problems) from None


def check_tables(
    models: Models, tables: Mapping[str, Mapping[str, Any]], target: str, *, bare: bool
) -> tuple[TargetOptions, list[Problem]]:
    """Options of the chosen target of a plan with these tables, and the problems of all tables."""
    found, problems = models.get(target, TargetOptions)(), list[Problem]()
    for name, table in tables.items():
        where = join(KEY, name)
        if name not in models and name != target:
            text = f"{near(name, models)} (targets with options)"
            problems.append(Unknown(where, f"target {name!r}", text))
            continue
        try:
            options = read_options(models, name, table, where, bare=bare)
        except BadInput as error:
            problems += error.problems
            continue
        found = options if name == target else found
    return found, problems


def check_values(models: Models, given: Mapping[str, Any], called: Mapping[str, str]) -> None:
    """Raises BadInput for an option that no target has, or whose value no target takes.

    `called` has the name of each option in messages. For use before the target is known.
    """
    for key, value in given.items():
        having = [each.target for each in options_of(models) if each.key == key]
        if not having:
            known = {each.key for each in options_of(models)}
            raise BadInput(called[key], f"no target has this option; {near(key, known)}")
        problems = [_value_problem(models[name], key, value) for name in having]
        if all(problems):
            _raise(called, problems[0])


def _value_problem(model: type[TargetOptions], key: str, value: Any) -> Problem | None:
    """Problem of one option's own value, whatever the others are."""
    try:
        model.read({key: value}, bare=True)
    except BadInput as error:
        return next((each for each in error.problems if each.where.startswith(key)), None)
    return None


def _raise(called: Mapping[str, str], problem: Problem | None) -> None:
    if problem is None:
        return
    key = problem.where.partition("[")[0]
    name = called.get(key, key)
    if isinstance(problem, Unknown) or not key:
        raise BadInput(name or "options", problem.accepted)
    raise BadInput(name, f"{problem.value!r} is not accepted; {problem.accepted}")


def read_given(
    models: Models, target: str, given: Mapping[str, Any], called: Mapping[str, str]
) -> dict[str, Any]:
    """Options that the command line or Python gives for a target, as a plan writes them.

    Raises BadInput, in their names in `called`.
    """
    try:
        return read_options(models, target, given, "", bare=True).to_table(given=True)
    except BadInput as error:
        _raise(called, error.problems[0])
        raise
