"""A foreign package under one of our names is told in one error."""

from __future__ import annotations

import subprocess
import sys

import pytest

from orchestrator.cli.shadow import refuse_foreign_packages
from orchestrator.errors import Refused

CODE = "from orchestrator.cli.shadow import refuse_foreign_packages as f; f()"


def test_our_own_packages_are_accepted():
    refuse_foreign_packages()


@pytest.mark.parametrize("name", ["plugins", "traffic", "traces"])
@pytest.mark.parametrize("file", ["{}/__init__.py", "{}.py"])
def test_a_foreign_package_that_hides_ours_is_named(tmp_path, name, file):
    foreign = tmp_path / file.format(name)
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text("raise SystemExit('foreign code was run')")
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {CODE}"],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert "Refused" in last
    assert f"the package {name!r} at {tmp_path / name}" in last
    assert "PYTHONPATH" in last


def test_a_package_that_is_missing_is_named():
    with pytest.raises(Refused, match="'no_such_package' is not there"):
        refuse_foreign_packages(("no_such_package",))
