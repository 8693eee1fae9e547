"""Builds sdist and wheel and tries the wheel as its first user does: `make wheel-test`.

A virtual environment outside of the checkout, the dependencies that the wheel names and nothing
else, an empty home, an empty folder to stand in. It takes a few minutes: everything is installed
and compiled anew.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PYTHON_USE = """
import tailback
run = tailback.load("latest")
assert run.verdict == "met", run
assert run.samples(quantity="queue_bytes").num_rows > 1000
print(run)
"""


def called(*words: str | Path, folder: Path, home: Path | None = None) -> str:
    """Run a command; its output. Ends the program when it fails."""
    print("$", *words, flush=True)
    environment = dict(os.environ)
    if home is not None:
        kept = {
            k: v for k, v in environment.items() if not k.startswith(("PYTHON", "XDG", "NUMBA"))
        }
        environment = kept | {"HOME": str(home)}
    done = subprocess.run(
        list(map(str, words)),
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(
            f"{done.stdout}\nwheel-test: code {done.returncode} from: {' '.join(map(str, words))}"
        )
    return done.stdout


def lowest() -> list[str]:
    """numba and NumPy at the lower ends of their ranges; the upper ends are what pip installs."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        named = tomllib.load(file)["project"]["dependencies"]
    return [
        f"{one['name']}=={one['low']}"
        for one in (re.match(r"(?P<name>numba|numpy)>=(?P<low>[\d.]+),", text) for text in named)
        if one is not None
    ]


def main() -> None:
    """Build, install, run, look; then with the lowest versions of what compiles."""
    with tempfile.TemporaryDirectory(prefix="wheel-test-") as name:
        place = Path(name)
        home, empty = place / "home", place / "empty"
        home.mkdir()
        empty.mkdir()
        build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", place / "dist", ROOT]
        called(*build, folder=place)
        (wheel,) = (place / "dist").glob("*.whl")
        called(sys.executable, "-m", "venv", place / "venv", folder=place)
        python, tailback = (place / "venv" / "bin" / word for word in ("python", "tailback"))
        called(python, "-m", "pip", "install", "--quiet", wheel, folder=place)
        version = called(tailback, "--version", folder=empty, home=home).split()[1]
        assert version in wheel.name, (version, wheel.name)
        told = json.loads(called(tailback, "run", "quickstart", "--json", folder=empty, home=home))
        folder = Path(told["folder"])
        assert told["verdict"] == "met", told["expectations"]
        assert folder.is_relative_to(empty), folder
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        assert manifest["tailback"] == version, "the manifest has to tell which version it was"
        assert manifest["git"] is None, "there is no git here"
        assert "git" in manifest["absent"]
        assert "<svg" in (folder / "report.html").read_text(encoding="utf-8")
        called(python, "-c", PYTHON_USE, folder=empty, home=home)
        listed = called(tailback, "gateware", "list", folder=empty, home=home)
        assert "qcn_switch" in listed, "the Verilog is not there"
        print(f"wheel-test: {wheel.name} runs from an empty folder")
        called(python, "-m", "pip", "install", "--quiet", *lowest(), folder=place)
        again = json.loads(called(tailback, "run", "quickstart", "--json", folder=empty, home=home))
        assert again["verdict"] == "met", again["expectations"]
        first, second = (
            json.loads((Path(one["folder"]) / "result.json").read_text(encoding="utf-8"))["metrics"]
            for one in (told, again)
        )
        assert first == second, "the lowest versions compute something else"
        print(f"wheel-test: the same with {' and '.join(lowest())}")


if __name__ == "__main__":
    main()
