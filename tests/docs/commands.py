"""Command lines of pages, held against what they call: `tailback`, make, modules, programs."""

from __future__ import annotations

import functools
import importlib.util
import re
import shlex
import shutil
import sys
import sysconfig
import unittest.mock
from importlib.metadata import EntryPoint, entry_points
from typing import Any

import typer
from typer.main import get_command

from orchestrator.cli.main import assemble
from orchestrator.registry import GROUP, Registry
from tests.docs.pages import ROOT

OF_CLUSTERS = ("srun",)
"""Slurm's, which is where a page's script is for and not here."""
BUILTINS = {"cd", "export", "for", "do", "done", ".", "if", "then", "fi", "while", "echo", "wait"}
OURS = sysconfig.get_path("scripts")
LEADING = {"do", "then", "sudo"}
SUBSTITUTED = re.compile(r"\$\((.*?)\)")
HERE = re.compile(r"<<'(\w+)'")
ASSIGNED = re.compile(r"^\w+=")
BadUsage: Any = typer.BadParameter.__mro__[1]  # UsageError, which typer names nowhere


@functools.cache
def tree() -> Any:
    """The command line as it is assembled from core and plugins, and the target of a page."""
    path = ROOT / "tests" / "third_party" / "hourglass" / "hourglass.py"
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
        point = EntryPoint(path.stem, path.stem, GROUP)
        registry = Registry([*entry_points(group=GROUP), point])
    finally:  # of its own alone: what it imported stays the module that others have
        del sys.modules[path.stem]
    with unittest.mock.patch.object(Registry, "load", return_value=registry):
        return get_command(assemble(registry))


def simple_commands(script: str) -> list[list[str]]:
    """The words of every simple command of a shell block."""
    script, inner = SUBSTITUTED.sub("OUTPUT", script), SUBSTITUTED.findall(script)
    found: list[list[str]] = [words for each in inner for words in simple_commands(each)]
    ends = HERE.findall(script)  # what is between is a script, too
    for line in script.replace("\\\n", " ").splitlines():
        if line in ends:
            continue
        lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
        lexer.whitespace_split = True
        words: list[str] = []
        for word in [*lexer, ";"]:
            if word and set(word) <= set("|&;"):
                found += [words] if words else []
                words = []
            else:
                words.append(word)
    return [bare for words in found if (bare := _bare(words))]


def _bare(words: list[str]) -> list[str]:
    """Without assignments, `do` and the like in front, and without redirections behind."""
    while words and (ASSIGNED.match(words[0]) or words[0] in LEADING):
        words = words[1:]
    cut = next((i for i, word in enumerate(words) if set(word) <= set("<>")), len(words))
    return words[:cut]


def mistakes(script: str) -> list[str]:
    """What is wrong with the commands of a shell block, without running any."""
    return [text for words in simple_commands(script) if (text := mistake(words))]


def mistake(words: list[str]) -> str | None:
    """Why a command could not even start, or None."""
    first = re.sub(r"^(.*/)?bin/", "", words[0])  # of whichever venv
    if first == "tailback":
        return _parsed(words[1:])
    if first == "make":
        known = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
        wrong = [w for w in words[1:] if "=" not in w and w not in known]
        return f"make has no target {wrong}" if wrong else None
    if words[:2] == ["python", "-m"]:
        return None if importlib.util.find_spec(words[2]) else f"there is no module {words[2]}"
    if first == "python" and len(words) > 1 and words[1].startswith("tests/"):
        return None if (ROOT / words[1]).exists() else f"there is no {words[1]}"
    if (
        first in BUILTINS
        or first in OF_CLUSTERS
        or shutil.which(first)
        or shutil.which(first, path=OURS)
    ):
        return None
    return f"there is no command {first!r}"


def _parsed(arguments: list[str]) -> str | None:
    """Parse as `tailback` does, to the last option's value; nothing is carried out."""
    command, context = tree(), None
    try:
        while True:
            context = command.make_context(command.name, list(arguments), parent=context)
            if not hasattr(command, "resolve_command"):
                return None
            rest = [*context._protected_args, *context.args]
            _, command, arguments = command.resolve_command(context, rest)
    except BadUsage as error:
        return f"tailback {shlex.join(arguments)}: {error.format_message()}"
    except typer.Exit:
        return None  # --help or --version


def named(code: str) -> str | None:
    """What is wrong with `tailback ...` in a sentence, which may leave out arguments and values."""
    words = re.sub(r"[\[\]…]", " ", code).split()[1:]
    command = tree()
    while words and hasattr(command, "commands") and not words[0].startswith("-"):
        if words[0] not in command.commands:
            return f"tailback has no command {words[0]!r}"
        command, words = command.commands[words[0]], words[1:]
    known = {option for parameter in command.params for option in _options(parameter)}
    known |= {"--help", "-h"}
    options = [word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)]
    wrong = [option for option in options if option not in known]
    return f"tailback {command.name} has no option {wrong}" if wrong else None


def _options(parameter: Any) -> list[str]:
    return [*parameter.opts, *parameter.secondary_opts]
