"""The typer application: assembled from the core's commands and those that plugins contribute.

Of a command line that names a command no more is assembled than that: all of them together take
half a second to import and to describe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup
from typer.main import get_command_name

from orchestrator import __version__
from orchestrator.errors import TailbackError
from orchestrator.registry import Registry
from orchestrator.terminal import exit_codes, usage_errors

COMMANDS = {
    "run": "run",
    "sweep": "sweep",
    "mutate": "mutate",
    "papers": "papers",
    "explain": "explain",
    "console": "console",
    "plans": "plans",
    "plugins": "plugins",
    "metrics": "metrics",
    "headroom": "headroom",
    "network": "network",
    "hunt": "hunt",
    "doctor": "doctor",
    "calibrate": "calibrate",
    "storm": "storm",
    "otg": "otg",
    "clean": "clean",
    "freeze": "freeze",
    "lab": "lab",
    "agent": "agent",
    "release": "agent",
    "controller": "controller",
    "machines": "controller",
    "fetch": "run_remote",
    "import": "import_files",
    "keys": "keys",
}
"""Command -> module of this package, in the order of the help."""
PLUGIN_DIAGNOSTICS = frozenset({"plugins", "doctor"})
"""Commands that report errors of plugins, and so load all of them."""


def register_command(app: typer.Typer, word: str) -> None:
    """Add the command of this name, and those that its module has beside it."""
    import_module(f"orchestrator.cli.{COMMANDS[word]}").register(app)


def register_commands(app: typer.Typer) -> None:
    """Add all of them."""
    for module in dict.fromkeys(COMMANDS.values()):
        import_module(f"orchestrator.cli.{module}").register(app)


SUMMARY = """Congestion control on a testbed: simulated, on real packets, in gateware.

\b
  tailback run quickstart                        a first run, two seconds long
  tailback run netfpga-fig11 --target software   NetFPGA-QCN, figure 11 on real frames
  tailback doctor                                what this machine can do
"""


class Commands(TyperGroup):
    """The group of all commands; an error in one of them ends as a sentence and an exit code."""

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the options of `tailback` itself; typer would say nothing about Ctrl-C here."""
        try:
            return super().make_context(*arguments, **options)
        except KeyboardInterrupt as error:
            raise typer.Exit(exit_codes.explain(error)) from error
        except usage_errors.UsageError as error:
            raise _misused(error) from error

    def invoke(self, ctx: Any) -> Any:
        """Run the command that the arguments name."""
        try:
            outcome = super().invoke(ctx)
            sys.stdout.flush()
            return outcome
        except usage_errors.UsageError as error:
            raise _misused(error) from error
        except (
            TailbackError,
            exit_codes.Terminated,
            KeyboardInterrupt,
            OSError,
            MemoryError,
        ) as error:
            raise typer.Exit(exit_codes.explain(error)) from error


def _misused(error: Any) -> Exception:
    """Usage error that ends a command line; an empty command line prints the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        return cast(Exception, error)
    exit_codes.say(usage_errors.usage_message(error))
    return typer.Exit(exit_codes.BAD_INPUT)


def _version(wanted: bool) -> None:
    if wanted:
        print(f"tailback {__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Options of `tailback` itself."""


def assemble(registry: Registry, arguments: Sequence[str] | None = None) -> typer.Typer:
    """The application with every command there is, or with what `arguments` need of them."""
    app = typer.Typer(
        name="tailback",
        cls=Commands,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
    app.callback(help=SUMMARY, epilog=exit_codes.CODES_HELP)(_options)
    word = arguments[0] if arguments else ""
    if word == "--version":
        return app
    if word in COMMANDS and word not in PLUGIN_DIAGNOSTICS:
        register_command(app, word)
        return app
    of_plugins = typer.Typer()
    owners = dict.fromkeys(COMMANDS, "tailback itself")
    for name, plugin in registry.manager.list_name_plugin():
        _contribute(of_plugins, registry, name, plugin, owners, word)
    if not _has(of_plugins, word):
        register_commands(app)
    app.registered_commands += of_plugins.registered_commands
    app.registered_groups += of_plugins.registered_groups
    return app


def _has(app: typer.Typer, word: str) -> bool:
    """Return whether a command or a command group of this name was added."""
    added = (*map(_command_name, app.registered_commands), *map(_group_name, app.registered_groups))
    return word in added


def _command_name(command: Any) -> str:
    return command.name or _by_function(command.callback)


def _group_name(group: Any) -> Any:
    return _given_name(group.name) or _given_name(_of(group).info.name)


def _by_function(callback: Any) -> str:
    return get_command_name(callback.__name__)


def _of(group: Any) -> typer.Typer:
    return cast(typer.Typer, group.typer_instance)


def _given_name(name: Any) -> Any:
    """A name, or the None that stands within typer's placeholder of one that was not given."""
    return getattr(name, "value", name)


def _contribute(
    app: typer.Typer,
    registry: Registry,
    name: str,
    plugin: Any,
    owners: dict[str, str],
    word: str,
) -> None:
    """Let one plugin add its commands; one that fails must not take the command line down.

    A command whose name is taken (`owners`: name -> who has it) is left out and named; at once
    where it is the command that was called (`word`).
    """
    mine = typer.Typer()
    try:
        getattr(plugin, "tailback_commands", lambda app: None)(app=mine)
    except Exception as error:
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        registry.blame(name, f"tailback_commands: {what}")
    taken = dict(owners)
    for command in mine.registered_commands:
        if _is_free(registry, name, _command_name(command), taken, word):
            app.registered_commands.append(command)
            owners.setdefault(_command_name(command), f"plugin {name}")
    for group in mine.registered_groups:
        if _is_free(registry, name, _group_name(group), taken, word):
            app.registered_groups.append(group)
            owners.setdefault(_group_name(group), f"plugin {name}")


def _is_free(
    registry: Registry, plugin: str, command: str, taken: dict[str, str], word: str
) -> bool:
    """False, and the plugin is named, for a command that exists already."""
    if command not in taken:
        return True
    text = f"its command {command!r} is left out, because {taken[command]} has one of that name"
    registry.blame(plugin, text)
    if command == word:
        exit_codes.say(f"plugin {plugin}: {text}")
    return False


def command_line(arguments: list[str]) -> int:
    """Run one command line; every way to end comes out as an exit code."""
    with exit_codes.raise_on_signals():
        return _command_line(arguments)


def _command_line(arguments: list[str]) -> int:
    if sys.stdout is None:  # closed by the parent process: no output is wanted
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w")
    else:
        exit_codes.name_stdout()
    try:
        assemble(Registry.load(), arguments)(arguments, prog_name="tailback")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else exit_codes.MET
    except BaseException as error:
        return exit_codes.explain(error)
    return exit_codes.MET
