"""RO-Crate metadata of a capsule (ro-crate-metadata.json), for programs other than tailback.

Written by hand after RO-Crate 1.2 (https://w3id.org/ro/crate/1.2): a graph of a data set, its files
and the action that made them. The library `rocrate` needs an HTTP client, a template engine and a
command-line library for that; tests read with it what is written here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traces.capsule.capsule_layout import CRATE, DATA, FILES, HASHES, PLAN_OF, RECORD, RESULT_OF
from traces.capsule.capsule_record import Record

SPEC = "https://w3id.org/ro/crate/1.2"
MEANS = {
    RECORD: "record of the packing: plan, seeds, versions, machine, packages",
    HASHES: "SHA-256 of every file",
    DATA + "plan.toml": "the plan, every default written out",
    DATA + "sweep.toml": "the plan with the varied parameters",
    DATA + "result.json": "metrics, expectations, fidelity, verdict",
    DATA + "seeds.json": "expectations over the seeds, verdict",
    DATA + "sweep.json": "axes, seeds, units of the columns",
    DATA + "manifest.json": "versions and the machine",
    DATA + "samples.parquet": "everything that was sampled",
    DATA + "places.parquet": "a row for each place of the sweep",
    DATA + "report.html": "the report",
}
FORMATS = {
    "json": "application/json",
    "jsonl": "application/jsonl",
    "toml": "application/toml",
    "html": "text/html",
    "txt": "text/plain",
    "svg": "image/svg+xml",
    "png": "image/png",
    "parquet": "application/vnd.apache.parquet",
    "pcapng": "application/x-pcapng",
}
Node = dict[str, Any]


def crate_of(
    record: Record, title: str, started: str, files: Mapping[str, tuple[int, str]]
) -> dict[str, Any]:
    """The document; `files` are (octets, SHA-256) by name."""
    described = [_file(name, size, digest) for name, (size, digest) in sorted(files.items())]
    about = f"{record.name} on {record.target}"
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": title or record.name,
        "description": f"A {record.kind} of tailback: {about}. `tailback verify` runs it again.",
        "datePublished": started[:10],
        "hasPart": _ids([one["@id"] for one in described]),
        "mentions": {"@id": "#run"},
    }
    version = str(record.environment.get("tailback"))
    action = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": f"{record.kind} of {about}",
        "startTime": started,
        "instrument": {"@id": "#tailback"},
        "object": _ids([DATA + PLAN_OF[record.kind], *sorted(record.files.values())]),
        "result": _ids([DATA + RESULT_OF[record.kind]]),
    }
    instrument = {
        "@id": "#tailback",
        "@type": "SoftwareApplication",
        "name": "tailback",
        "version": version,
        "softwareRequirements": _words(record.environment.get("libraries")),
    }
    head = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "about": {"@id": "./"},
        "conformsTo": {"@id": SPEC},
    }
    return {"@context": f"{SPEC}/context", "@graph": [head, root, action, instrument, *described]}


def _file(name: str, size: int, digest: str) -> Node:
    found: Node = {"@id": name, "@type": "File", "name": name.rpartition("/")[2]}
    if name.startswith(FILES):
        found["description"] = "a file that the plan names"
    elif name in MEANS:
        found["description"] = MEANS[name]
    if form := FORMATS.get(name.rpartition(".")[2]):
        found["encodingFormat"] = form
    return found | {"contentSize": str(size), "sha256": digest}


def _ids(names: list[str]) -> list[Node]:
    return [{"@id": name} for name in names]


def _words(libraries: Any) -> list[str]:
    pairs = libraries.items() if isinstance(libraries, dict) else ()
    return [f"{name} {version}" for name, version in pairs if version]
