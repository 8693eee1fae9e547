"""JSON Schema of plan files, generated from the models, for editors.

It knows keys, kinds, choices and units. A table may leave out what its template or its base has, so
no key of it is required here; that names exist and times fit is for `Plan` to say.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import core_schema

from orchestrator.plan.figure_tables import Figure
from orchestrator.plan.model_introspection import field_texts, quantity_of
from orchestrator.plan.mutant_table import Mutant
from orchestrator.plan.network_fabric import FABRICS, KEY
from orchestrator.plan.plan_model import PlanModel
from orchestrator.plan.plan_tables import Link, Nic, PluginTable, Sink, Switch, Table, Traffic
from orchestrator.plan.program_table import Program
from orchestrator.plan.timeline_tables import Expect, Phase, Step
from orchestrator.plan.units import Quantity

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ENTRIES = (Nic, Switch, Sink, Link, Traffic, Phase, Step, Expect, Figure, Mutant, Program)
_LIKE = {"type": "string", "description": "The template that this table is laid over."}
_WORDS = {"type": "array", "items": {"type": "string"}}
_MEANS: dict[str, Any] = {
    "base": {
        "type": "string",
        "description": "The plan, or its file, that this one goes on top of.",
    },
    "scale": {
        "type": ["string", "number"],
        "description": "The base's rates are multiplied, and its times divided by this.",
    },
    "without": {**_WORDS, "description": "Keys of the base that are not taken over."},
    "lists": {
        "type": "object",
        "additionalProperties": {**_WORDS, "minItems": 1},
        "description": "Words that {name} in a name stands for.",
    },
    "templates": {
        "type": "object",
        "additionalProperties": {"type": "object"},
        "description": "Tables that others are like.",
    },
}


class _Generator(GenerateJsonSchema):
    def function_before_schema(self, schema: core_schema.BeforeValidatorFunctionSchema) -> Any:
        """Schema of a value read from a text: bounds of the resulting number do not apply to it."""
        if schema["schema"]["type"] == "model-fields":  # a table; former keys are no part of it
            return super().function_before_schema(schema)
        return {"type": ["string", "number"]}


def plan_schema() -> dict[str, Any]:
    """The schema, as JSON has it."""
    made = PlanModel.model_json_schema(schema_generator=_Generator, mode="validation")
    every: list[type[BaseModel]] = [*Table.__subclasses__(), Traffic, PluginTable]
    models = {model.__name__: model for model in every}
    for name, table in made["$defs"].items():
        if name in models:
            _write(models[name], table)
    _write(PlanModel, made)
    made["properties"] = _MEANS | {KEY: _fabric()} | made["properties"]
    nodes = made["properties"]["nodes"]
    nodes["additionalProperties"] = {"anyOf": nodes["additionalProperties"]["oneOf"]}
    return {"$schema": DIALECT, **made}


def _fabric() -> dict[str, Any]:
    """The fabric of a plan, which no model of a plan has: it is nodes and links by then."""
    choices = []
    for model in FABRICS:
        table = model.model_json_schema(schema_generator=_Generator, mode="validation")
        _write(model, table)
        choices.append(table)
    return {"description": "Nodes and links of a whole network.", "anyOf": choices}


def _write(model: type[BaseModel], table: dict[str, Any]) -> None:
    """Makes one model's schema that of its table as people write it."""
    table.pop("required", None)
    said = field_texts(model)
    for name, field in model.model_fields.items():
        key = field.alias or name
        written = _without_null(table["properties"][key])
        if name in said:
            written["description"] = said[name]
        quantity = quantity_of(field.annotation) or quantity_of(_marked(field.metadata))
        if quantity is not None:
            written = _quantity(quantity, written, field.get_default())
        written.pop("title", None)
        table["properties"][key] = written
    if model in _ENTRIES:
        table["properties"] = {"like": _LIKE, **table["properties"]}


def _marked(metadata: list[Any]) -> Any:
    """An annotated type with the marks that pydantic keeps apart from the type of a field."""
    return Annotated[int, *metadata, None]


def _without_null(written: dict[str, Any]) -> dict[str, Any]:
    """TOML has no null: a key is left out instead."""
    choices = [choice for choice in written.get("anyOf", []) if choice != {"type": "null"}]
    if written.get("default", 0) is None:
        written = {key: value for key, value in written.items() if key != "default"}
    if len(choices) == 1:
        rest = {key: value for key, value in written.items() if key != "anyOf"}
        return {**choices[0], **rest}
    return {**written, "anyOf": choices} if choices else written


def _quantity(quantity: Quantity, written: dict[str, Any], default: object) -> dict[str, Any]:
    """A text with a unit; a number in braces is put in by a range. 0 needs no unit."""
    units = "|".join(map(re.escape, quantity.written | quantity.also_read))
    text = {"type": "string", "pattern": rf"^\s*([0-9][0-9_.]*|.*\}}.*)\s*({units})\s*$|^0$"}
    found: dict[str, Any] = {"anyOf": [text, {"const": 0}], "examples": [quantity.example]}
    if "description" in written:
        found["description"] = written["description"]
    if isinstance(default, int):
        found["default"] = quantity.format(default)
    return found
