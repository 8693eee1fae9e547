"""Record of a capsule (capsule.json): contents at packing, by which later changes are named."""

from __future__ import annotations

from importlib import metadata
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from orchestrator.errors import BadInput, Problem
from orchestrator.plan import ResolvedPlan
from orchestrator.registry import Registry
from orchestrator.run import manifest as manifests
from orchestrator.run.source_digest import digest_of
from traces.capsule.capsule_layout import FORMAT, MOST_JSON, RECORD
from traces.capsule.zip_archive import Archive
from traces.run_reader import parse_object

VERSIONS = ("tailback", "python", "libraries", "sources", "git")
"""Of a manifest: what computes a result."""
Kind = Literal["run", "seeds", "sweep"]
ENVIRONMENT = (*VERSIONS, "machine")


class Record(BaseModel):
    """Contents of a capsule at packing."""

    model_config = ConfigDict(strict=True, extra="ignore")

    tailback_capsule: int
    kind: Kind
    name: str
    """Of the plan."""
    target: str
    seeds: list[int] = Field(min_length=1, max_length=10_000)
    plan: dict[str, Any]
    """The tables of the plan that is run again."""
    environment: dict[str, Any]
    """Versions, digest of the sources and machine, from the manifest at packing."""
    plugins: dict[str, str]
    """`kind name` of each algorithm that the plan uses -> the distribution it came from."""
    files: dict[str, str] = {}
    """Path that the plan names -> file of the capsule."""
    packages: dict[str, str] | None = None
    """All that was installed; None where the sources were others by the time of packing."""


def read_record(archive: Archive) -> Record:
    """Raises BadInput."""
    value = parse_object(f"{archive.path}: {RECORD}", archive.text(RECORD, MOST_JSON))
    if value.get("tailback_capsule") != FORMAT:
        said = value.get("tailback_capsule")
        raise archive.bad(f"{RECORD} has format {said!r:.40}; this version reads {FORMAT}")
    try:
        return Record.model_validate(value)
    except ValidationError as error:
        problems = [
            Problem(".".join(map(str, one["loc"])), str(one.get("input"))[:80], one["msg"])
            for one in error.errors()[:20]
        ]
        raise BadInput(f"{archive.path}: {RECORD}", problems) from None


def environment_of(manifest: dict[str, Any]) -> dict[str, Any]:
    """The part of a manifest that may change what comes out."""
    return {key: manifest.get(key) for key in ENVIRONMENT}


def environment_here() -> dict[str, Any]:
    """The environment of this installation."""
    found = manifests.build_manifest("", "", 0, "") | {"sources": digest_of(Registry.load())}
    return environment_of(found)


def packages_here() -> dict[str, str]:
    """Every distribution that is installed, with its version."""
    found = {one.metadata["Name"]: one.version for one in metadata.distributions()}
    return dict(sorted((name, version) for name, version in found.items() if name))


def plugins_of(resolved: ResolvedPlan) -> dict[str, str]:
    """`kind name` of what a plan uses -> the distribution that brings it."""
    return {
        f"{use.algorithm.kind} {use.algorithm.name}": str(use.algorithm.origin)
        for uses in resolved.uses.values()
        for use in uses.values()
    }


def missing_packages(plugins: dict[str, str]) -> list[str]:
    """Packages of a plan's plugins that are not installed here, as text."""
    known = {f"{one.kind} {one.name}" for one in Registry.load().algorithms}
    return [f"{name} (of {origin})" for name, origin in plugins.items() if name not in known]
