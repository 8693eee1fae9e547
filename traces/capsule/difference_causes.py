"""Causes of differing values: changes in a capsule's files, its record, or this environment."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator.run.dictdiff import differing_keys, flatten
from traces.capsule.capsule_layout import DATA, PLAN_OF, RESULT_OF
from traces.capsule.capsule_record import VERSIONS, Record

PARAMETER, SEED, VERSION, MACHINE = "parameter", "seed", "version", "machine"
RESULT, FILE, UNKNOWN = "result", "file", "unknown"
ABSENT = "nothing"
MOST = 50
"""Causes of one kind."""
_DIGEST = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True)
class Cause:
    """A difference, as a sentence. `altered`: the capsule contradicts itself."""

    kind: str
    text: str
    altered: bool = False


@dataclass(frozen=True)
class CapsuleFacts:
    """Contents of a capsule's files, to be compared with its record."""

    plan: dict[str, Any]
    manifest: dict[str, Any]
    seeds: Mapping[str, list[int]]
    """File -> the seeds that it names."""
    wrong: Mapping[str, str]
    """File -> how it is not as it was packed."""


def causes(record: Record, said: CapsuleFacts, here: dict[str, Any], differs: bool) -> list[Cause]:
    """The likeliest first. `differs`: some figure does."""
    found = [
        *_parameters(record, said.plan),
        *_seeds(record, said.seeds),
        *_versions(record, said.manifest),
        *_files(record, said.wrong),
        *_elsewhere(record, here),
    ]
    if differs and not any(one.kind != MACHINE for one in found):
        text = (
            "plan, seed and versions are as packed and as here: results were changed before they "
            "were packed or together with their hashes, or this machine computes otherwise"
        )
        found.append(Cause(RESULT, text))
    return found


def _parameters(record: Record, plan: dict[str, Any]) -> Iterator[Cause]:
    packed, now, name = flatten(record.plan), flatten(plan), PLAN_OF[record.kind]
    for key in differing_keys(packed, now)[:MOST]:
        if key == "seed":
            continue
        pair = [_shown(values.get(key, ABSENT)) for values in (now, packed)]
        yield Cause(PARAMETER, f"{key} is {pair[0]} in {name}, {pair[1]} when packed", True)


def _seeds(record: Record, seeds: Mapping[str, list[int]]) -> Iterator[Cause]:
    for name, found in seeds.items():
        if found != record.seeds:
            pair = [_listed(found), _listed(record.seeds)]
            yield Cause(SEED, f"the seed is {pair[0]} in {name}, {pair[1]} when packed", True)


def _versions(record: Record, manifest: dict[str, Any]) -> Iterator[Cause]:
    packed = flatten({key: record.environment.get(key) for key in VERSIONS})
    now = flatten({key: manifest.get(key) for key in VERSIONS})
    for key in differing_keys(packed, now)[:MOST]:
        pair = [_shown(values.get(key, ABSENT)) for values in (now, packed)]
        yield Cause(VERSION, f"{key} is {pair[0]} in manifest.json, {pair[1]} when packed", True)


def _files(record: Record, wrong: Mapping[str, str]) -> Iterator[Cause]:
    results = (DATA + RESULT_OF[record.kind], DATA + "points/", DATA + "places.parquet")
    for name, how in list(wrong.items())[:MOST]:
        kind = RESULT if name.startswith(results) else FILE
        yield Cause(kind, f"{name} {how}", True)


def _elsewhere(record: Record, here: dict[str, Any]) -> Iterator[Cause]:
    """Differences between the recorded environment and this one."""
    packed = {key: record.environment.get(key) for key in VERSIONS}
    same = packed["sources"] == here["sources"]
    for key, value in flatten(packed).items():
        found = flatten(here).get(key)
        if value == found or value is None or (same and key.startswith("git.")):
            continue
        what = "the digest of engine, core and plugins" if key == "sources" else key
        pair = _shown(value), _shown(found if found is not None else ABSENT)
        yield Cause(VERSION, f"{what} was {pair[0]} where it ran, and is {pair[1]} here")
    if record.target != "simulated":
        theirs, ours = (flatten(one.get("machine") or {}) for one in (record.environment, here))
        for key in ("processor", "cores", "kernel", "hypervisor"):
            if theirs.get(key) != ours.get(key):
                pair = _shown(theirs.get(key)), _shown(ours.get(key))
                yield Cause(MACHINE, f"{key} was {pair[0]} where it ran, and is {pair[1]} here")


def _shown(value: Any) -> str:
    text = str(value)
    if _DIGEST.fullmatch(text):
        return text[:12]
    return text if len(text) <= 60 else f"{text[:57]}..."


def _listed(seeds: list[int]) -> str:
    texts = [_shown(one) for one in seeds]
    return ", ".join(texts) if len(texts) <= 5 else f"{texts[0]}, {texts[1]}, … {texts[-1]}"
