"""Hostile numbers in every place that takes one: refused in a sentence that names the place.

The places come from the shipped plans, the models and the commands, the values from
tests/robustness/hostile_numbers.py. Each is refused with exit code 2, in bounded time and length.
"""

from __future__ import annotations

import contextlib
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, ValidationError

from orchestrator import bounded_json
from orchestrator.cli.main import command_line
from orchestrator.errors import BadInput
from orchestrator.live import feed_codec, feed_messages
from orchestrator.plan import Plan
from orchestrator.plan.algorithm_params import Params
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes
from orchestrator.testbed.agent import agent_messages
from orchestrator.testbed.agent.agent_messages import Heartbeat
from orchestrator.testbed.agent.agent_service import Agent
from orchestrator.testbed.controller import controller_messages
from orchestrator.testbed.wire import envelope
from orchestrator.testbed.wire.envelope import Answer, Request, Unacceptable, WireMessage
from orchestrator.testbed.wire.rpc_server import RequestDispatcher
from tests.robustness.hostile_numbers import (
    JSON,
    NUMBERS,
    OPTIONS,
    TEXTS,
    commands,
    drawn,
    keys,
    models_below,
    number_fields,
    takes_text,
    with_value,
)

LONGEST, TOOK_S = 3_000, 10.0
"""Characters of a message, and time until there is one."""
MODULES = (agent_messages, controller_messages)


def refusal(place: str, literal: str, text: str, path: Path) -> str | None:
    """How the refusal of a plan is not as it should be; None when it is."""
    path.write_text(text, encoding="utf-8")
    began = time.monotonic()
    try:
        Plan.load(path).check(Registry.load())
    except BadInput as error:
        said = str(error)
    except Exception as error:
        return f"{place} = {literal[:40]}: {type(error).__name__}: {str(error)[:200]}"
    else:
        return f"{place} = {literal[:40]}: is accepted"
    key = next(word for word in reversed(place.split(".")) if word != "*" and word[0] != "(")
    short = len(said) <= LONGEST and time.monotonic() - began <= TOOK_S
    if path.name in said and key in said and short:
        return None
    return f"{place} = {literal[:40]}: {said[:300]}"


def wrong_plans(literals: Any, folder: Path) -> list[str]:
    """Every key of a number with some hostile values."""
    path, found = folder / "hostile.toml", []
    for place, (name, where) in keys().items():
        if takes_text(name, where):
            continue
        for literal in literals(place):
            text = with_value(name, where, literal)
            found.append(refusal(place, literal, text, path))
    assert len(found) > 150, "the shipped plans hold more numbers than that"
    return [one for one in found if one is not None]


def test_every_number_of_a_plan_is_refused_with_its_key(tmp_path: Path) -> None:
    def some(place: str) -> list[str]:
        choices = [*NUMBERS, *(json.dumps(text) for text in TEXTS)]
        return drawn(place, choices, 1)

    assert wrong_plans(some, tmp_path) == []


@pytest.mark.trials
@pytest.mark.timeout(3600)
def test_every_number_of_a_plan_with_every_value(tmp_path: Path) -> None:
    choices = [*NUMBERS, *(json.dumps(text) for text in TEXTS)]
    assert wrong_plans(lambda place: choices, tmp_path) == []


def values() -> list[Any]:
    """Hostile values of a table, as a parser of TOML makes them."""
    integers = [10**9_999, -(10**4_000), 16**3_600, 2**62, -(2**63)]
    texts = [text for text in TEXTS if text != "1e5"]  # a factor may be that
    return [*integers, float("nan"), float("inf"), float("-inf"), 1e308, *texts]


def wrong_fields(model: type[BaseModel]) -> list[str]:
    """Numbers of a model that take a hostile value, or fail on one."""
    found = []
    for key in number_fields(model):
        for value in values():
            try:
                model.model_validate({key: value}, context={"bare_numbers": False})
            except ValidationError as error:
                if any(one["loc"][:1] == (key,) for one in error.errors(include_input=False)):
                    continue
            except BadInput as error:
                if key in str(error) and len(str(error)) <= LONGEST:
                    continue
            except Exception as error:
                found.append(f"{model.__name__}.{key}: {type(error).__name__}")
                continue
            found.append(f"{model.__name__}.{key} takes {type(value).__name__} {shown(value)}")
    return found


def shown(value: Any) -> str:
    """A value in a few characters."""
    return hex(value)[:20] if isinstance(value, int) else repr(value)[:40]


def test_every_parameter_of_every_algorithm_is_bounded() -> None:
    algorithms = Registry.load().algorithms
    models = {one.params for one in algorithms} | set(Registry.load().target_options.values())
    assert sum(len(number_fields(model)) for model in models) > 150
    assert [line for model in models for line in wrong_fields(model)] == []


@pytest.mark.parametrize("algorithm", Registry.load().algorithms, ids=lambda one: one.name)
def test_a_parameter_is_refused_with_its_name(algorithm: Any) -> None:
    """Through the function that reads a plan's table, whose errors users see."""
    params: type[Params] = algorithm.params
    for key in number_fields(params):
        for value in random.Random(f"{algorithm.name} {key}").sample(values(), 3):
            with pytest.raises(BadInput) as refused:
                params.from_table({key: value}, "nodes.switch.plugin")
            assert f"nodes.switch.plugin.{key}" in str(refused.value)
            assert len(str(refused.value)) <= LONGEST


# --- options of commands


def number_options() -> list[tuple[list[str], Any, Any]]:
    """(words, command, option) of every option whose "1" is a number."""
    found = []
    for words, command in commands():
        context = command.make_context(words[-1], [], resilient_parsing=True)
        for option in command.params:
            with contextlib.suppress(Exception):
                made = option.process_value(context, ["1"] if option.multiple else "1")
                one = made[0] if isinstance(made, list | tuple) and made else made
                if isinstance(one, int | float) and not isinstance(one, bool):
                    found.append((words, context, option))
    return found


def test_every_number_option_has_bounds() -> None:
    options = number_options()
    assert len(options) > 25
    taken = []
    for words, context, option in options:
        for value in (*OPTIONS, "9" * 30, "9" * 4_000):
            began = time.monotonic()
            try:
                option.process_value(context, [value] if option.multiple else value)
            except Exception as error:
                if type(error).__name__ != "BadParameter":
                    taken.append(f"{words} {option.opts[0]} {value[:20]}: {error!r:.200}")
            else:
                taken.append(f"{words} {option.opts[0]} takes {value[:20]}")
            assert time.monotonic() - began < TOOK_S
    assert taken == []


QUANTITIES = ("TIME", "RATE", "SIZE", "FACTOR", "METRES")
FORMS = {
    "KEY=VALUE": ["seed={}", "duration={}", "nodes.switch.buffer={}"],
    "KEY=RANGE": ["nodes.switch.service_rate={}", "nodes.switch.service_rate=1Mb/s..{}"],
    "METRIC > VALUE": ["queue_bytes.mean > {}"],
    "METRIC = WIDTH": ["queue_bytes.mean = {}"],
    "on=TIME,off=TIME": ["on={},off=1s"],
}
"""How a quantity is written, by the placeholder of an option's help."""
SERVERS = ("agent", "controller", "console", "lab", "clean")
"""Commands that would go on, or remove something, were a value accepted."""


def text_options() -> list[tuple[list[str], Any, str]]:
    """(words of a command line, option, form of its value) of options that take quantities."""
    found = []
    for words, command in commands():
        if words[0] in SERVERS:
            continue
        for option in command.params:
            metavar = (option.metavar or "").strip("'")
            forms = FORMS.get(metavar, ["{}"] if metavar in QUANTITIES else [])
            if option.param_type_name != "option" or not forms:
                continue
            line = [*words]
            for other in command.params:
                value = "seed=1..2" if "RANGE" in (other.metavar or "") else "quickstart"
                argument = other.param_type_name == "argument"
                if argument and (other.required or other.nargs != 1):
                    line.append(value)
                elif not argument and other.required and other is not option:
                    line += [other.opts[0], value]
            found += [(line, option, form) for form in forms]
    return found


def answer(line: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Exit code and message of a command line."""
    code = command_line(line)
    return code, capsys.readouterr().err


def wrong_options(count: int, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Options of quantities with some hostile values each."""
    found, reached = [], 0
    for line, option, form in text_options():
        name = option.opts[0]
        for value in drawn((line, name, form), OPTIONS, count):
            began = time.monotonic()
            code, said = answer([*line, f"{name}={form.format(value)}"], capsys)
            reached += name in said
            text = f"{' '.join(line)} {name}={form.format(value)[:40]}: {code} {said[-300:]}"
            slow = time.monotonic() - began > TOOK_S
            if code != exit_codes.BAD_INPUT or "Traceback" in said or len(said) > LONGEST or slow:
                found.append(text)
    assert reached > 20, "few options were read"
    return found


def test_every_option_of_a_quantity_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert wrong_options(1, capsys) == []


@pytest.mark.trials
@pytest.mark.timeout(3600)
def test_every_option_of_a_quantity_with_every_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert wrong_options(len(OPTIONS), capsys) == []


# --- messages


def wire_models() -> list[type[BaseModel]]:
    """Messages between machines and of the feed, with a number in them."""
    assert MODULES
    found = [*models_below(WireMessage), *models_below(feed_messages.Message)]
    return [model for model in found if number_fields(model)]


@pytest.mark.parametrize("model", wire_models(), ids=lambda one: one.__name__)
def test_a_number_of_a_message_is_refused(model: type[BaseModel]) -> None:
    """By the reader of the message's octets, which every message passes."""
    for key in number_fields(model):
        for literal in JSON:
            octets = f'{{"v": 1, "kind": "x", "body": {{"{key}": {literal}}}}}'.encode()
            for kind in (Request, Answer):
                with pytest.raises(Unacceptable) as refused:
                    envelope.unpack(octets, kind)
                assert len(refused.value.sentence) <= envelope.SENTENCE
            with pytest.raises(feed_codec.MalformedMessage):
                feed_codec.decode_request([octets])
            with pytest.raises(ValueError, match=r"number|limit"):
                bounded_json.loads(octets)


def test_an_agent_answers_hostile_numbers_and_goes_on(tmp_path: Path) -> None:
    agent = Agent("a", tmp_path / "state", [], lambda text: None)
    desk = RequestDispatcher(agent.handlers())
    broken: list[str] = []
    desk.broken = lambda kind, error: broken.append(f"{kind}: {error!r}")
    try:
        for number, (kind, handler) in enumerate(agent.handlers().items(), 1):
            for key in number_fields(handler.model):
                for literal in [*JSON, str(2**63 - 1), "-1", "1e308", "0.5"]:
                    body = f'{{"lease": "{"ab" * 8}", "{key}": {literal}}}'
                    head = f'"v": 1, "session": "{"c" * 16}", "id": {number}, "kind": "{kind}"'
                    (told,) = desk.respond("k", [f'{{{head}, "body": {body}}}'.encode()]) or ()
                    assert json.loads(told)["refused"], (kind, key, literal)
        request = Request(session="d" * 16, id=1, kind="beat", body=Heartbeat().model_dump())
        (told,) = (desk.respond("k", [envelope.pack(request)]) or ())[:1]
        assert json.loads(told)["refused"] is None
    finally:
        agent.close()
    assert broken == []


def test_numbers_that_fit_are_read() -> None:
    text = "[0, -1, 9223372036854775807, -9223372036854775808, 0.5, 1e308, -0.0]"
    assert bounded_json.loads(text) == json.loads(text)
