"""Registry of installed plugins: discovery by entry point, loading and hook calls.

A plugin that cannot be loaded, or that contributes something unusable, becomes one sentence in
`problems`; the others are not affected.
"""

from __future__ import annotations

import functools
import inspect
import re
import traceback
from collections.abc import Callable, Container, Iterable
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import pluggy

from orchestrator import hookspecs
from orchestrator.errors import OUT_OF_ROOM, BadInput, Refused, RunFailed, TailbackError
from orchestrator.package_shadowing import (
    DISTRIBUTION,
    FORMER_DISTRIBUTION,
    refuse_foreign_packages,
)
from orchestrator.plan.input_problems import near

if TYPE_CHECKING:
    from orchestrator.algorithm import Algorithm
    from orchestrator.engine.frames.frame_type import FrameType
    from orchestrator.plan.metric import Metric
    from orchestrator.plan.target_options import TargetOptions
    from orchestrator.target import Target

GROUP = "tailback"
HOOKS = [name for name in vars(hookspecs) if name.startswith("tailback_")]


class UnknownAlgorithm(LookupError):
    """There is no algorithm of that kind and name; `known` has the names there are."""

    def __init__(self, kind: str, name: str, known: list[str]) -> None:
        self.known = known
        super().__init__(f"there is no {kind} {name!r}; {near(name, known)}")


class Registry:
    """Contributions of the plugins. Use `Registry.load()`, or make one of chosen entry points."""

    def __init__(self, points: Iterable[EntryPoint]) -> None:
        self.manager = pluggy.PluginManager(GROUP)
        self.manager.add_hookspecs(hookspecs)
        self.problems: list[str] = []
        self._origins: dict[str, str] = {}
        self._ours: set[str] = set()
        self._packages: dict[str, str] = {}
        self._told: dict[int, tuple[str, str]] = {}
        self._options_from: dict[str, str] = {}
        for point in sorted(points, key=lambda point: (not self._is_ours(point), point.name)):
            self._load(point)

    @classmethod
    @functools.cache
    def load(cls) -> Registry:
        """The registry of everything that is installed. Raises Refused when ours is not ours."""
        changed = refuse_foreign_packages()
        registry = cls(entry_points(group=GROUP))
        registry.problems += changed
        _ = registry.metrics  # before any plan is read
        return registry

    @property
    def hook(self) -> pluggy.HookRelay:
        """The hooks, to be called with named arguments."""
        return self.manager.hook

    @functools.cached_property
    def frame_types(self) -> list[FrameType]:
        """All frame types; those of plugins are known to the codec from then on."""
        from orchestrator.engine.frames import type_registry

        for plugin, kind in self._call_all("tailback_frame_types", _is_frame_type):
            try:
                type_registry.register_type(kind)
            except ValueError as error:
                self.blame(plugin, str(error))
        return type_registry.registered_types()

    @functools.cached_property
    def algorithms(self) -> list[Algorithm]:
        """All algorithms by kind and name, each with its origin."""
        found: dict[tuple[str, str], Algorithm] = {}
        kinds = {each.kind for each in self.frame_types}
        for plugin, algorithm in self._call_all("tailback_algorithms", _is_algorithm):
            key = (algorithm.kind, algorithm.name)
            if unknown := [kind for kind in algorithm.sends if kind not in kinds]:
                self.blame(
                    plugin,
                    f"its {algorithm.kind} {algorithm.name!r} is left out, because no plugin "
                    f"describes the frames of kind {unknown[0]} that it sends; "
                    "tailback_frame_types does",
                )
            elif key in found:
                self.blame(
                    plugin,
                    f"its {algorithm.kind} {algorithm.name!r} is left out, because "
                    f"{found[key].origin} has one of that name",
                )
            else:
                found[key] = replace(algorithm, origin=self._origins[plugin])
        return [found[key] for key in sorted(found)]

    @functools.cached_property
    def targets(self) -> list[Target]:
        """All targets."""
        found: dict[str, tuple[str, Target]] = {}
        for plugin, target in self._call_all("tailback_targets", _is_target):
            if target.name in found:
                owner = self._origins[found[target.name][0]]
                text = f"its target {target.name!r} is left out, because {owner} has one of that"
                self.blame(plugin, f"{text} name")
            else:
                found[target.name] = plugin, target
        for name in self.target_options.keys() - found.keys():
            text = f"its options of target {name!r} have no use: there is no such target"
            self.blame(self._options_from[name], f"{text}; {near(name, found)}")
        return [target for _, target in found.values()]

    @functools.cached_property
    def metrics(self) -> dict[str, tuple[str, Metric]]:
        """Metrics that plugins declare: name -> (plugin, metric); plans accept them."""
        from orchestrator.plan.metric_registry import register_metric

        found: dict[str, tuple[str, Metric]] = {}
        for plugin, metric in self._call_all("tailback_metric_types", _is_metric):
            if metric.name in found:
                owner = self._origins[found[metric.name][0]]
                self.blame(plugin, f"its metric {metric.name!r} is left out, because {owner} has "
                           "one of that name")  # fmt: skip
                continue
            try:
                register_metric(metric)
            except ValueError as error:
                self.blame(plugin, f"tailback_metric_types: {error}")
            else:
                found[metric.name] = plugin, metric
        return found

    @functools.cached_property
    def target_options(self) -> dict[str, type[TargetOptions]]:
        """Model of the options of each target that has any, by the target's name."""
        found: dict[str, type[TargetOptions]] = {}
        for plugin, model in self._call_all("tailback_target_options", _is_options):
            if model.target in found:
                owner = self._origins[self._options_from[model.target]]
                text = f"its options of target {model.target!r} are left out, because {owner}"
                self.blame(plugin, f"{text} has some of that target")
            else:
                found[model.target], self._options_from[model.target] = model, plugin
        return found

    def plans(self) -> dict[str, Path]:
        """Shipped plans by name. Of two plans of one name the second is left out and named."""
        found: dict[str, tuple[str, Path]] = {}
        for plugin, path in self._call_all("tailback_plans", _is_plan):
            first, other = found.setdefault(path.stem, (plugin, path))
            if other != path:
                origin = self._origins.get(first, first)
                text = f"its plan {path.stem!r} is left out, because {origin} has one of that name"
                self.blame(plugin, text)
        return {name: path for name, (_, path) in sorted(found.items())}

    def bring(
        self, module: ModuleType, name: str, origin: str, globals_: list[Algorithm]
    ) -> list[Algorithm]:
        """Take in a plugin of this process, and those of its algorithms that no hook names.

        The ones that are new are returned.
        """
        before = {(one.kind, one.name) for one in self.algorithms}
        self._origins[name] = origin
        self.manager.register(module, name=name)
        for cached in ("algorithms", "frame_types", "metrics"):
            self.__dict__.pop(cached, None)
        _ = self.metrics
        known = {(one.kind, one.name) for one in self.algorithms}
        more = [one for one in globals_ if (one.kind, one.name) not in known]
        self.algorithms = sorted(
            [*self.algorithms, *(replace(one, origin=origin) for one in more)],
            key=lambda one: (one.kind, one.name),
        )
        return [one for one in self.algorithms if (one.kind, one.name) not in before]

    def find(self, kind: str, name: str) -> Algorithm:
        """The algorithm of that kind and name, or former name. Raises UnknownAlgorithm."""
        for algorithm in self.algorithms:
            if (algorithm.kind, algorithm.name) == (kind, name):
                return algorithm
        for algorithm in self.algorithms:
            if algorithm.kind == kind and name in algorithm.former:
                return algorithm
        known = [a.name for a in self.algorithms if a.kind == kind]
        raise UnknownAlgorithm(kind, name, known)

    def target(self, name: str) -> Target:
        """The target of that name. Raises BadInput."""
        for target in self.targets:
            if target.name == name:
                return target
        known = [target.name for target in self.targets]
        raise BadInput("target", f"there is no target {name!r}; {near(name, known)}")

    def others(self, hook: str = "") -> list[str]:
        """Names of the plugins that are not tailback's own; with a hook, of those that have it."""
        return [
            name
            for name, module in self.manager.list_name_plugin()
            if name not in self._ours and (not hook or hasattr(module, hook))
        ]

    def call(self, hook: str, **arguments: Any) -> list[Any]:
        """Results of a hook from every plugin, called one at a time.

        One that fails is a problem and does not take the others down; a full disk, an error of the
        system in tailback's own plugins and one that is meant for the user go on.
        """
        return [answer for _, answer in self.call_by_plugin(hook, **arguments)]

    def insist(self, hook: str, **arguments: Any) -> list[Any]:
        """As `call`, for what a run is not complete without; see `insist_by_plugin`."""
        return [answer for _, answer in self.insist_by_plugin(hook, **arguments)]

    def call_single(self, plugin: str, hook: str, **arguments: Any) -> list[Any]:
        """As `call`, of one plugin alone."""
        but = [name for name, _ in self.manager.list_name_plugin() if name != plugin]
        return [answer for _, answer in self._call(hook, arguments, lambda *_: False, but)]

    def call_by_plugin(
        self, hook: str, but: Container[str] = (), **arguments: Any
    ) -> list[tuple[str, Any]]:
        """As `call`: the name of each plugin that answers, and its answer; `but` some plugins."""
        return self._call(hook, arguments, lambda name, error: False, but)

    def insist_by_plugin(
        self, hook: str, but: Container[str] = (), **arguments: Any
    ) -> list[tuple[str, Any]]:
        """The name of each plugin that answers, and its answer; `but` some plugins.

        An error of tailback's own plugin then is the run's, and goes on: a run that lacks its
        samples or its metrics must not be kept and called `met`. Raises RunFailed without memory.
        """

        def ours(name: str, error: Exception) -> bool:
            if name in self._ours and isinstance(error, MemoryError):
                raise RunFailed(
                    f"{hook}: not enough memory ({sentence_of(error)}); nothing of the run was "
                    "kept; free some, or shorten the run or its captures"
                ) from error
            return name in self._ours

        return self._call(hook, arguments, ours, but)

    def is_own(self, plugin: str) -> bool:
        """True for a plugin of tailback itself."""
        return plugin in self._ours

    def _call(
        self,
        hook: str,
        arguments: dict[str, Any],
        goes_on: Callable[[str, Exception], bool],
        but: Container[str] = (),
    ) -> list[tuple[str, Any]]:
        answers: list[tuple[str, Any]] = []
        plugins = dict(self.manager.list_name_plugin())
        for name, plugin in plugins.items():
            if name in but:
                continue
            others = [other for other in plugins.values() if other is not plugin]
            try:
                found = self.manager.subset_hook_caller(hook, others)(**arguments)
                answers += [(name, answer) for answer in found]
            except TailbackError:
                raise
            except (Exception, SystemExit) as error:
                if isinstance(error, OSError) and self._is_systems(name, error):
                    raise
                if isinstance(error, Exception) and goes_on(name, error):
                    raise
                self.blame(name, f"{hook}: {self._located(name, error)}")
        return answers

    def _is_systems(self, plugin: str, error: OSError) -> bool:
        """True for an error of the system that is no mistake of a plugin."""
        return plugin in self._ours or error.errno in OUT_OF_ROOM

    def _load(self, point: EntryPoint) -> None:
        if self._distribution(point)[:1] == (FORMER_DISTRIBUTION,):
            former = " ".join(self._distribution(point))
            raise Refused(
                "tailback",
                f"the distribution {former}, its former name, is installed beside {DISTRIBUTION}",
                f"pip uninstall {FORMER_DISTRIBUTION}, then install {DISTRIBUTION} again "
                "from its clone or wheel.",
            )
        origin = " ".join(self._distribution(point)) or "unknown"
        name = point.name if point.name not in self._origins else f"{point.name} ({point.value})"
        self._origins[name] = f"{origin} ({point.value})"
        self._packages[name] = re.split(r"[.:]", point.value)[0]
        if self._is_ours(point):
            self._ours.add(name)
        try:
            module = point.load()
            if not hasattr(module, "__dict__"):
                raise TypeError(f"{module!r} has no hooks; name a module in the entry point")
            self.manager.register(module, name=name)
        except pluggy.PluginValidationError as error:
            self.blame(name, _wrong_arguments(error))
            return
        except (Exception, SystemExit) as error:
            self.blame(name, self._located(name, error))
            return
        hooks = [attribute for attribute in dir(module) if attribute.startswith("tailback_")]
        if not hooks and not isinstance(module, ModuleType):
            self.blame(name, "it has no hooks; name the module that has them in the entry point")
        for attribute in hooks:
            if not hasattr(hookspecs, attribute):
                self.blame(name, f"there is no hook {attribute}; {near(attribute, HOOKS)}")
            elif inspect.isfunction(made := getattr(module, attribute)) and not hasattr(
                made, "tailback_impl"
            ):
                self.blame(name, f"its {attribute} is no hook yet; decorate it with @hookimpl")

    def third_party_files(self) -> dict[Path, str]:
        """Files of plugins of others (a package's folder, a module's file), with their names."""
        found = {}
        for name, module in self.manager.list_name_plugin():
            file = getattr(module, "__file__", None)
            if file and name not in self._ours:
                path = Path(file)
                found[path.parent if path.name == "__init__.py" else path] = name
        return found

    def _distribution(self, point: EntryPoint) -> tuple[str, ...]:
        """Name and version of what a plugin was installed with, whose description is read once."""
        if point.dist is None:
            return ()
        key = id(point.dist)  # it lives as long as its points
        if key not in self._told:
            self._told[key] = (point.dist.name, point.dist.version)
        return self._told[key]

    def _is_ours(self, point: EntryPoint) -> bool:
        return self._distribution(point)[:1] == (DISTRIBUTION,)

    def _call_all(self, hook: str, check: Callable[[Any], str | None]) -> Iterable[tuple[str, Any]]:
        """Results of a hook without arguments from every plugin, one at a time."""
        answers: list[tuple[str, Any]] = []
        for name, plugin in self.manager.list_name_plugin():
            answer = getattr(plugin, hook, None)
            if answer is None:
                continue
            try:
                returned = answer()
                if not isinstance(returned, Iterable):
                    raise TypeError(f"it returned {returned!r:.80}; return a list")
                mine = list(returned)
            except (Exception, SystemExit) as error:
                self.blame(name, f"{hook}: {self._located(name, error)}")
                continue
            for thing in mine:
                if lack := check(thing):
                    self.blame(name, f"{hook}: {lack}")
                else:
                    answers.append((name, thing))
        return answers

    def _located(self, plugin: str, error: BaseException) -> str:
        """Sentence about an error, with the innermost line of the plugin's own files.

        tailback's own plugins, and errors of syntax, which name their line, have none.
        """
        package = "" if plugin in self._ours else self._packages.get(plugin, "")
        for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
            module = str(frame.f_globals.get("__name__", ""))
            if package and module.partition(".")[0] == package:
                return f"{frame.f_code.co_filename}:{line}: {sentence_of(error)}"
        return sentence_of(error)

    def blame(self, plugin: str, text: str) -> None:
        """Add a sentence about a plugin to `problems`, once."""
        origin = f" of {self._origins[plugin]}" if plugin in self._origins else ""
        problem = f"plugin {plugin}{origin} is not usable: {text}"
        if problem not in self.problems:
            self.problems.append(problem)


def sentence_of(error: BaseException) -> str:
    """Type and first line of an error."""
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _wrong_arguments(error: pluggy.PluginValidationError) -> str:
    """Hook, unknown arguments and those that it takes, of pluggy's error about a function."""
    text = str(error)
    hook = re.search(r"for hook '(\w+)'", text)
    given = re.search(r"Argument\(s\) \{(.*)\} are declared", text)
    if hook is None or given is None:
        return " ".join(text.split())
    wrong = ", ".join(sorted(given[1].split(", ")))
    known = ", ".join(inspect.signature(getattr(hookspecs, hook[1])).parameters) or "none"
    return f"{hook[1]}: unknown arguments {wrong}; it takes: {known}"


def _is_frame_type(thing: Any) -> str | None:
    from orchestrator.engine.frames.frame_type import FrameType

    return None if isinstance(thing, FrameType) else f"{thing!r} is not a FrameType"


def _is_algorithm(thing: Any) -> str | None:
    from orchestrator.algorithm import Algorithm

    if not isinstance(thing, Algorithm):
        return f"{thing!r} is not an Algorithm"
    if thing.kernels or thing.timers or thing.messages or thing.programs:
        return None
    return f"its {thing.kind} {thing.name!r} has no kernel and no messages: it would do nothing"


def _is_metric(thing: Any) -> str | None:
    from orchestrator.plan.metric import Metric

    return None if isinstance(thing, Metric) else f"{thing!r} is not a Metric"


def _is_target(thing: Any) -> str | None:
    from orchestrator.target import Target

    if not isinstance(thing, Target):
        return f"{thing!r} is no orchestrator.target.Target"
    lack = [part for part in ("name", "summary") if not hasattr(thing, part)]
    return f"{thing!r} has no {', '.join(lack)}" if lack else None


def _is_options(thing: Any) -> str | None:
    from orchestrator.plan.target_options import TargetOptions

    if not isinstance(thing, type) or not issubclass(thing, TargetOptions):
        return f"{thing!r} is no subclass of orchestrator.plan.target_options.TargetOptions"
    if isinstance(thing.target, str) and thing.target:
        return None
    return f"{thing.__name__} does not name its target (target = ...): {thing.target!r:.40}"


def _is_plan(thing: Any) -> str | None:
    if isinstance(thing, Path) and thing.suffix == ".toml" and thing.is_file():
        return None
    return f"{thing!r} is not the path of a .toml file"
