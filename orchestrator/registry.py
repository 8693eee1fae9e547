"""Registry of installed plugins: discovery by entry point, loading and hook calls.

A plugin that cannot be loaded, or that contributes something unusable, becomes one sentence in
`problems`; the others are not affected.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

import pluggy

from orchestrator import hookspecs
from orchestrator.errors import BadInput, RunFailed, TailbackError
from orchestrator.package_shadowing import refuse_foreign_packages
from orchestrator.plan.input_problems import near

if TYPE_CHECKING:
    from orchestrator.algorithm import Algorithm
    from orchestrator.engine.frames.frame_type import FrameType
    from orchestrator.target import Target

GROUP = "tailback"
HOOKS = [name for name in vars(hookspecs) if name.startswith("tailback_")]
Contribution = TypeVar("Contribution")


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
        self._told: dict[int, tuple[str, str]] = {}
        for point in sorted(points, key=lambda point: (not self._is_ours(point), point.name)):
            self._load(point)

    @classmethod
    @functools.cache
    def load(cls) -> Registry:
        """The registry of everything that is installed. Raises Refused when ours is not ours."""
        changed = refuse_foreign_packages()
        registry = cls(entry_points(group=GROUP))
        registry.problems += changed
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
                self._blame(plugin, str(error))
        return type_registry.registered_types()

    @functools.cached_property
    def algorithms(self) -> list[Algorithm]:
        """All algorithms by kind and name, each with its origin."""
        found: dict[tuple[str, str], Algorithm] = {}
        kinds = {each.kind for each in self.frame_types}
        for plugin, algorithm in self._call_all("tailback_algorithms", _is_algorithm):
            key = (algorithm.kind, algorithm.name)
            if unknown := [kind for kind in algorithm.sends if kind not in kinds]:
                self._blame(
                    plugin,
                    f"its {algorithm.kind} {algorithm.name!r} is left out, because no plugin "
                    f"describes the frames of kind {unknown[0]} that it sends; "
                    "tailback_frame_types does",
                )
            elif key in found:
                self._blame(
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
        return [target for _, target in self._call_all("tailback_targets", _is_target)]

    def plans(self) -> dict[str, Path]:
        """Shipped plans by name."""
        paths = [path for _, path in self._call_all("tailback_plans", _is_plan)]
        return {path.stem: path for path in sorted(paths)}

    def bring(
        self, module: ModuleType, name: str, origin: str, globals_: list[Algorithm]
    ) -> list[Algorithm]:
        """Take in a plugin of this process, and those of its algorithms that no hook names.

        The ones that are new are returned.
        """
        before = {(one.kind, one.name) for one in self.algorithms}
        self._origins[name] = origin
        self.manager.register(module, name=name)
        for cached in ("algorithms", "frame_types"):
            self.__dict__.pop(cached, None)
        known = {(one.kind, one.name) for one in self.algorithms}
        more = [one for one in globals_ if (one.kind, one.name) not in known]
        self.algorithms = sorted(
            [*self.algorithms, *(replace(one, origin=origin) for one in more)],
            key=lambda one: (one.kind, one.name),
        )
        return [one for one in self.algorithms if (one.kind, one.name) not in before]

    def find(self, kind: str, name: str) -> Algorithm:
        """The algorithm of that kind and name. Raises NotFound."""
        for algorithm in self.algorithms:
            if (algorithm.kind, algorithm.name) == (kind, name):
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

    def call(self, hook: str, **arguments: Any) -> list[Any]:
        """Results of a hook from every plugin, called one at a time.

        One that fails is a problem and does not take the others down; an error of the disk or one
        that is meant for the user is not the plugin's, and goes on.
        """
        return self._call(hook, arguments, lambda name, error: False)

    def insist(self, hook: str, **arguments: Any) -> list[Any]:
        """As `call`, for what a run is not complete without.

        An error of tailback's own plugin then is the run's, and goes on: a run that lacks its
        samples or its metrics must not be kept and called `met`. Raises RunFailed without memory.
        """

        def ours(name: str, error: Exception) -> bool:
            if name in self._ours and isinstance(error, MemoryError):
                raise RunFailed(
                    f"{hook}: not enough memory ({_sentence(error)}); nothing of the run was kept; "
                    "free some, or shorten the run or its captures"
                ) from error
            return name in self._ours

        return self._call(hook, arguments, ours)

    def _call(
        self, hook: str, arguments: dict[str, Any], goes_on: Callable[[str, Exception], bool]
    ) -> list[Any]:
        answers = []
        plugins = dict(self.manager.list_name_plugin())
        for name, plugin in plugins.items():
            others = [other for other in plugins.values() if other is not plugin]
            try:
                answers += self.manager.subset_hook_caller(hook, others)(**arguments)
            except (OSError, TailbackError):
                raise
            except Exception as error:
                if goes_on(name, error):
                    raise
                self._blame(name, f"{hook}: {_sentence(error)}")
        return answers

    def _load(self, point: EntryPoint) -> None:
        origin = " ".join(self._distribution(point)) or "unknown"
        name = point.name if point.name not in self._origins else f"{point.name} ({point.value})"
        self._origins[name] = f"{origin} ({point.value})"
        if self._is_ours(point):
            self._ours.add(name)
        try:
            module = point.load()
            self.manager.register(module, name=name)
        except (Exception, SystemExit) as error:
            self._blame(name, _sentence(error))
            return
        for attribute in vars(module):
            if attribute.startswith("tailback_") and not hasattr(hookspecs, attribute):
                self._blame(name, f"there is no hook {attribute}; {near(attribute, HOOKS)}")

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
        return self._distribution(point)[:1] == (GROUP,)

    def _call_all(self, hook: str, check: Callable[[Any], str | None]) -> Iterable[tuple[str, Any]]:
        """Results of a hook without arguments from every plugin, one at a time."""
        answers: list[tuple[str, Any]] = []
        for name, plugin in self.manager.list_name_plugin():
            answer = getattr(plugin, hook, None)
            if answer is None:
                continue
            try:
                mine = list(answer())
            except Exception as error:
                self._blame(name, f"{hook}: {_sentence(error)}")
                continue
            for thing in mine:
                if lack := check(thing):
                    self._blame(name, f"{hook}: {lack}")
                else:
                    answers.append((name, thing))
        return answers

    def _blame(self, plugin: str, text: str) -> None:
        problem = f"plugin {plugin} of {self._origins[plugin]} is not usable: {text}"
        if problem not in self.problems:
            self.problems.append(problem)


def _sentence(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0]


def _is_frame_type(thing: Any) -> str | None:
    from orchestrator.engine.frames.frame_type import FrameType

    return None if isinstance(thing, FrameType) else f"{thing!r} is not a FrameType"


def _is_algorithm(thing: Any) -> str | None:
    from orchestrator.algorithm import Algorithm

    return None if isinstance(thing, Algorithm) else f"{thing!r} is not an Algorithm"


def _is_target(thing: Any) -> str | None:
    from orchestrator.target import Target

    if not isinstance(thing, Target):
        return f"{thing!r} is no orchestrator.target.Target"
    lack = [part for part in ("name", "summary") if not hasattr(thing, part)]
    return f"{thing!r} has no {', '.join(lack)}" if lack else None


def _is_plan(thing: Any) -> str | None:
    if isinstance(thing, Path) and thing.suffix == ".toml" and thing.is_file():
        return None
    return f"{thing!r} is not the path of a .toml file"
