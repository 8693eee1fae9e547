"""A foreign package under one of our names is told in one error, with the distribution it is of."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from orchestrator import package_shadowing
from orchestrator.errors import Refused
from orchestrator.package_shadowing import DISTRIBUTION
from tests.packaging.wheels import laid_out
from tests.patience import PATIENCE_S

CODE = "from orchestrator.package_shadowing import refuse_foreign_packages as f; f()"
FOREIGN = "raise SystemExit('foreign code was run')"


def refused(path: Path) -> str:
    """The last line of the error when a path comes first where Python looks."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(path)!r}); {CODE}"],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    return done.stderr.splitlines()[-1]


def test_our_own_packages_are_accepted() -> None:
    assert package_shadowing.refuse_foreign_packages() == ()


@pytest.mark.parametrize("name", ["plugins", "traffic", "traces", "firmware"])
@pytest.mark.parametrize("file", ["{}/__init__.py", "{}.py"])
def test_a_foreign_package_that_hides_ours_is_named(tmp_path: Path, name: str, file: str) -> None:
    foreign = tmp_path / file.format(name)
    foreign.parent.mkdir(exist_ok=True)
    foreign.write_text(FOREIGN)
    last = refused(tmp_path)
    assert "Refused" in last
    assert f"the package {name!r} at {tmp_path / name}" in last
    assert "PYTHONPATH" in last
    assert "distribution" not in last


def test_the_distribution_that_hides_ours_is_named(tmp_path: Path) -> None:
    laid_out(tmp_path, "other-traffic", "2.5", {"traffic/__init__.py": FOREIGN})
    last = refused(tmp_path)
    assert f"'traffic' at {tmp_path / 'traffic'} (the distribution other-traffic 2.5)" in last


def test_a_package_that_is_missing_is_named() -> None:
    with pytest.raises(Refused, match="'no_such_package' is not there"):
        package_shadowing.refuse_hidden("no_such_package")


DEEP = "traces/oracle/conformance_rules.py"
FILES = {"plugins/__init__.py": "OURS = 1\n", DEEP: "x = 1\n", "docs.txt": "a"}


@pytest.fixture
def own(tmp_path: Path) -> metadata.Distribution:
    """Something installed that stands for tailback."""
    laid_out(tmp_path, DISTRIBUTION, "9.9", FILES)
    return one(tmp_path, DISTRIBUTION)


def one(place: Path, name: str) -> metadata.Distribution:
    (found,) = metadata.distributions(path=[str(place)], name=name)
    return found


def test_what_is_as_it_was_installed_is_accepted(own: metadata.Distribution) -> None:
    assert package_shadowing.refuse_replaced(own, [own]) == ()


@pytest.mark.parametrize("content", ["OURS = 2\n", "", FOREIGN])
def test_a_distribution_that_was_installed_over_ours_is_named(
    own: metadata.Distribution, tmp_path: Path, content: str
) -> None:
    laid_out(tmp_path, "innocent", "1.0", {"innocent/__init__.py": ""})
    laid_out(tmp_path, "other-plugins", "0.1", {"plugins/__init__.py": content})
    every = list(metadata.distributions(path=[str(tmp_path)]))
    with pytest.raises(Refused) as error:
        package_shadowing.refuse_replaced(own, every)
    text = str(error.value)
    assert "the distribution other-plugins 0.1 was installed over its own" in text
    assert str(tmp_path / "plugins" / "__init__.py") in text
    assert "--force-reinstall" in text


@pytest.mark.parametrize("source", ["file:///srv/tailback", "file:///srv/tailback.whl"])
def test_the_remedy_names_the_source_that_pip_recorded(tmp_path: Path, source: str) -> None:
    info = "tailback_testbed-9.9.dist-info/direct_url.json"
    laid_out(tmp_path, DISTRIBUTION, "9.9", FILES | {info: json.dumps({"url": source})})
    own = one(tmp_path, DISTRIBUTION)
    (tmp_path / DEEP).unlink()
    with pytest.raises(Refused, match=re.escape(f"--force-reinstall --no-deps {source}")):
        package_shadowing.refuse_replaced(own, [own])


def test_a_file_that_is_gone_is_named(own: metadata.Distribution, tmp_path: Path) -> None:
    (tmp_path / DEEP).unlink()
    with pytest.raises(Refused, match=re.escape(f"{DEEP} is gone")):
        package_shadowing.refuse_replaced(own, [own])


def test_a_file_that_is_gone_is_named_by_newer_metadata_too(
    own: metadata.Distribution, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As from Python 3.12 on: `files` has only what is there."""
    (tmp_path / DEEP).unlink()
    there = [file for file in own.files or () if (tmp_path / file).exists()]
    monkeypatch.setattr(type(own), "files", there)
    with pytest.raises(Refused, match=re.escape(f"{DEEP} is gone")):
        package_shadowing.refuse_replaced(own, [own])


def test_a_file_that_was_edited_in_place_is_told_and_not_refused(
    own: metadata.Distribution, tmp_path: Path
) -> None:
    (tmp_path / "docs.txt").write_text("b")  # in none of our packages
    assert package_shadowing.refuse_replaced(own, [own]) == ()
    (tmp_path / DEEP).write_text("x = 2\n")
    (told,) = package_shadowing.refuse_replaced(own, [own])
    assert f"{DEEP} was changed after the installation" in told


def test_a_checkout_is_no_installed_distribution() -> None:
    assert package_shadowing.own_distribution() is None
