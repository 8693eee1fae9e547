"""Names of a package that are imported at their first use."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from orchestrator.lazy_exports import from_modules
from orchestrator.plan.units import parse_rate

PLACES = {"parse_rate": "units", "reader": "json:loads", "gone": "units", "far": "nowhere"}


@pytest.fixture
def package(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A package whose modules are those of the plan."""
    made = ModuleType("orchestrator.plan")
    monkeypatch.setitem(sys.modules, "orchestrator.plan", made)
    made.__path__ = []  # type: ignore[attr-defined]
    made.__getattr__ = from_modules("orchestrator.plan", PLACES)  # type: ignore[method-assign]
    return made


def test_a_name_is_that_of_its_module_and_stays(package: ModuleType) -> None:
    assert "parse_rate" not in vars(package)
    assert package.parse_rate is parse_rate
    assert vars(package)["parse_rate"] is parse_rate


def test_a_name_may_be_another_one_of_any_module(package: ModuleType) -> None:
    import json

    assert package.reader is json.loads
    assert vars(package)["reader"] is json.loads


def test_what_is_not_exported_is_no_attribute(package: ModuleType) -> None:
    with pytest.raises(AttributeError, match=r"'orchestrator\.plan' has no attribute 'other'"):
        _ = package.other
    with pytest.raises(AttributeError, match="gone"):
        _ = package.gone
    with pytest.raises(ModuleNotFoundError, match="nowhere"):
        _ = package.far
