"""Where a page is worked through: a checkout in a new folder, a venv in it, an empty home.

The venv is one of its own, so that what a page installs is nobody else's, and it is quick to make:
behind its own packages come those of the venv in which the tests run. The checkout has all that is
no import package; those come from where the tests run, with what was compiled of them.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
import venv
from dataclasses import dataclass
from pathlib import Path

from orchestrator import private_cache
from tests.docs.pages import ROOT

PARTS = (
    "Makefile",
    "README.md",
    "CHANGELOG.md",
    "changelog.d",
    "LICENSE",
    "pyproject.toml",
    "docs",
    "tests",
    ".git",
)
STAMPS = (".made", ".run", ".dev")
SYSTEM = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"


@dataclass(frozen=True)
class Room:
    """The checkout and the home in which a page is read."""

    checkout: Path
    home: Path

    def environment(self, cache: Path) -> dict[str, str]:
        """A new user's, but for what is compiled or built already, and for pip without an index."""
        return {
            "HOME": str(self.home),
            "PATH": SYSTEM,
            "LANG": "C.UTF-8",
            "COLUMNS": "100",
            "NO_COLOR": "1",
            "TMPDIR": str(self.home),
            "TAILBACK_LIVE": str(self.home / "live"),
            "NUMBA_CACHE_DIR": str(cache),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            private_cache.KEY: str(private_cache.key_file()),
            "PIP_NO_INDEX": "1",
            "PIP_NO_BUILD_ISOLATION": "false",  # pip's word for "none": what builds is there
            "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        }


def furnish(folder: Path) -> Room:
    """Make the room in an empty folder."""
    room = Room(folder / "tailback", folder / "home")
    room.checkout.mkdir()
    room.home.mkdir()
    for part in filter(lambda part: (ROOT / part).exists(), PARTS):
        (room.checkout / part).symlink_to(ROOT / part)
    _install(room.checkout / ".venv")
    return room


def _install(place: Path) -> None:
    """A venv that sees our packages behind its own, with our commands."""
    venv.EnvBuilder(symlinks=True).create(place)
    (site,) = place.glob("lib/python*/site-packages")
    ours = sysconfig.get_path("purelib")
    (site / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n", "utf-8")
    for script in Path(sysconfig.get_path("scripts")).iterdir():
        target = place / "bin" / script.name
        if script.is_file() and not script.is_symlink() and not target.exists():
            _copy(script, target, place / "bin" / "python")
    for stamp in STAMPS:
        (place / stamp).touch()


def _copy(script: Path, target: Path, python: Path) -> None:
    """A command of another venv, for this one's Python; what is no script of Python stays as is."""
    start, _, rest = script.read_bytes().partition(b"\n")
    if start.startswith(b"#!") and b"python" in start:
        target.write_bytes(b"#!" + os.fsencode(python) + b"\n" + rest)
        target.chmod(0o755)
    else:
        shutil.copy2(script, target)
