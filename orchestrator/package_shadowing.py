"""Package-shadowing guard: finds packages that hide or replace tailback's (their names are common).

Two ways: a file or package of that name comes first where Python looks (it *hides* ours), or a
distribution with a package of that name was installed over ours (it *replaced* our files; pip
does not mind). Both end in one sentence that names the other.
"""

from __future__ import annotations

import base64
import csv
import functools
import hashlib
import importlib.util
import json
from collections.abc import Iterable, Iterator
from importlib import metadata
from pathlib import Path

from orchestrator.errors import Refused

DISTRIBUTION = "tailback-testbed"
"""Name of the distribution in pyproject.toml: a package index has a foreign `tailback`. It stands
here, not in `orchestrator/__init__.py`, which a foreign distribution may have replaced."""
FORMER_DISTRIBUTION = "tailback"
"""Name of the distribution up to 0.2.0."""
PACKAGES = ("orchestrator", "plugins", "tailback", "traffic", "traces", "firmware")
"""Top-level names of the installed packages."""
OURS = Path(__file__).resolve().parents[1]
"""Folder that holds them side by side."""
NAMED = 3
"""Files that a sentence names; of more it says how many."""
APART = "install tailback in a virtual environment of its own"


@functools.cache
def refuse_foreign_packages() -> tuple[str, ...]:
    """Raise Refused when a foreign package hides or replaces one of tailback's.

    What differs from the files that were installed, though no distribution owns up to it, is no
    reason to stop: a sentence for each such case is returned.
    """
    for name in PACKAGES:
        refuse_hidden(name)
    own = own_distribution()
    return () if own is None else refuse_replaced(own, metadata.distributions())


def refuse_hidden(name: str) -> None:
    """Raise Refused when Python would import another package under one of our names."""
    place = _import_folder(name)
    if place is None:
        raise Refused(
            "tailback",
            f"its package {name!r} is not there (expected at {OURS / name})",
            reinstallation(own_distribution()),
        )
    if place != OURS / name:
        whose = _claiming_distribution([place, place / "__init__.py"], metadata.distributions())
        by = f" ({whose})" if whose else ""
        raise Refused(
            "tailback",
            f"the package {name!r} at {place}{by} hides tailback's own at {OURS / name}",
            f"Run tailback from another folder, take that place out of PYTHONPATH, or {APART}.",
        )


def _import_folder(name: str) -> Path | None:
    """The folder a package would be imported from; None when there is none."""
    try:
        found = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    if found is None:
        return None
    places = [found.origin] if found.origin else list(found.submodule_search_locations or [])
    if not places or places[0] is None:
        return None
    place = Path(places[0])
    return (place.parent if place.name == "__init__.py" else place).resolve()


def reinstallation(own: metadata.Distribution | None) -> str:
    """The remedy for lost files: pip's command, with the clone or wheel that pip recorded.

    The source is the URL of direct_url.json (PEP 610), which pip writes for everything that does
    not come from an index. A name alone would have pip ask an index, which does not have tailback.
    """
    text = None if own is None else own.read_text("direct_url.json")
    source = json.loads(text)["url"] if text else "CLONE_OR_WHEEL"
    return f"Install tailback again: pip install --force-reinstall --no-deps {source}"


def own_distribution() -> metadata.Distribution | None:
    """The distribution that this file was installed with; None for a checkout."""
    try:
        found = metadata.distribution(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return None
    names = {str(file) for file in found.files or ()}
    here = Path(__file__).resolve()
    mine = here.relative_to(OURS).as_posix()
    return found if mine in names and _path(found, mine) == here else None


def _recorded(own: metadata.Distribution) -> Iterator[tuple[str, str, str, int]]:
    """Name, kind of hash, hash and octets of every file that was installed and has a hash.

    `Distribution.files` leaves out what is gone, from Python 3.12 on and wherever the package
    importlib_metadata was imported before.
    """
    for row in csv.reader((own.read_text("RECORD") or "").splitlines()):
        name, hashed, octets = row
        kind, sign, value = hashed.partition("=")
        if sign and octets:
            yield name, kind, value, int(octets)


def refuse_replaced(
    own: metadata.Distribution, others: Iterable[metadata.Distribution]
) -> tuple[str, ...]:
    """Raise Refused when installed files are gone, or belong to another distribution by now."""
    gone, changed = [], []
    for name, kind, value, octets in _recorded(own):
        if name.partition("/")[0] not in PACKAGES:
            continue
        path = _path(own, name)
        if not path.is_file():
            gone.append(path)
        elif path.stat().st_size != octets or _digest(path, kind) != value:
            changed.append(path)
    if not gone and not changed:
        return ()
    strangers = [other for other in others if other.metadata["Name"] != own.metadata["Name"]]
    if whose := _claiming_distribution(changed, strangers):
        lack = f"{whose} was installed over its own {_listed(changed)}"
        raise Refused("tailback", lack, f"Uninstall that, or {APART}. {reinstallation(own)}")
    if gone:
        lack = f"of its own files {_listed(gone)} is gone, with another distribution perhaps"
        raise Refused("tailback", lack, reinstallation(own))
    return (f"{_listed(changed)} was changed after the installation of tailback",)


def _digest(path: Path, mode: str) -> str:
    """A file's hash as RECORD has it."""
    octets = hashlib.new(mode, path.read_bytes()).digest()
    return base64.urlsafe_b64encode(octets).rstrip(b"=").decode("ascii")


def _path(of: metadata.Distribution, name: str) -> Path:
    return Path(str(of.locate_file(name))).resolve()


def _claiming_distribution(paths: list[Path], among: Iterable[metadata.Distribution]) -> str | None:
    """The distribution that claims one of these files, with its version; None when none does."""
    wanted = set(paths)
    names = {path.name for path in paths}
    for other in among:
        for file in other.files or ():
            if file.name in names and _path(other, str(file)) in wanted:
                return f"the distribution {other.metadata['Name']} {other.version}"
    return None


def _listed(paths: list[Path]) -> str:
    shown = ", ".join(str(path) for path in paths[:NAMED])
    return shown + (f" and {len(paths) - NAMED} more" if len(paths) > NAMED else "")
