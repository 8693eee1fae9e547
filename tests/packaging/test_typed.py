"""mypy knows what `import tailback` gives, from the wheel alone."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.packaging.conftest import Venv

pytestmark = pytest.mark.slow


def test_mypy_finds_the_types_and_the_mistakes(venv: Venv, tmp_path: Path) -> None:
    text = Path(__file__).with_name("user_script.py").read_text(encoding="utf-8")
    script = tmp_path / "script.py"
    script.write_text(text)
    line = {word: 1 + text[: text.index(word)].count("\n") for word in ("reveal", "seven", "dikt")}
    options = ["--strict", "--no-error-summary", "--cache-dir", str(tmp_path / "cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--python-executable", venv.python, *options, script.name],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=250,
        check=False,
    )
    assert done.stdout.splitlines() == [
        f'script.py:{line["reveal"]}: note: Revealed type is "str"',
        f'script.py:{line["seven"]}: error: Argument "seed" to "run" has incompatible type "str"; '
        'expected "int | None"  [arg-type]',
        f'script.py:{line["dikt"]}: error: "Run" has no attribute "verdikt"; maybe "verdict"?  '
        "[attr-defined]",
    ], done.stderr
