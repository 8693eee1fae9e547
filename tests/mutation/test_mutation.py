"""The mutants of a text, and whether their tests notice: on a file made here."""

from __future__ import annotations

import gc
import importlib.util
import signal
import sys
import time
from pathlib import Path

import pytest

from tests.mutation import covered, page, trying
from tests.mutation.mutants import mutants
from tests.mutation.swapping import Swapping
from tests.mutation.trying import Trying
from tests.planting import exchanged, plant

TEXT = '''\
"""A module."""

from __future__ import annotations

MOST = 3


def clip(value: int, unit: int | None = None) -> int:
    """At most so much."""
    if unit is None:
        unit = 1
    return min(value // unit, MOST)


class Box:
    def __init__(self) -> None:
        self.held = []

    def put(self, what: int) -> None:
        self.held.append(what)
        self.full = len(self.held) > 2


def seconds(ps: int) -> float:
    return ps / 1e12


def adder(more: int):
    def add(value: int) -> int:
        return value + more

    return add


add_two = adder(2)
'''


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "made_for_mutation.py"
    path.write_text(TEXT)
    return path


def test_every_place_is_changed_once_and_annotations_and_units_are_not(file: Path):
    found = {mutant.key for mutant in mutants(file)}
    expected = {
        "MOST = 3  ->  MOST = 4",
        "if unit is None:  ->  if unit is not None:",
        "unit = 1  ->  unit = 2",
        "return min(value // unit, MOST)  ->  return min(value * unit, MOST)",
        "self.held.append(what)  ->  pass",
        "self.full = len(self.held) > 2  ->  self.full = len(self.held) >= 2",
        "self.full = len(self.held) > 2  ->  self.full = len(self.held) <= 2",
        "self.full = len(self.held) > 2  ->  pass",
        "return ps / 1e12  ->  return ps * 1e12",
    }
    assert expected <= found
    assert not [key for key in found if "& None" in key or "000000000" in key]
    assert len(found) == len(mutants(file)), "no change is tried twice"


def test_how_much_a_cache_holds_is_no_fault_and_what_it_tells_apart_is(file: Path):
    file.write_text(
        "import functools\n"
        "@functools.lru_cache(1 << 9, typed=True)\ndef one(value):\n    return value\n"
        "@functools.lru_cache(maxsize=3)\ndef other(value):\n    return value\n"
    )
    assert {mutant.key for mutant in mutants(file)} == {
        "@functools.lru_cache(1 << 9, typed=True)  ->  @functools.lru_cache(1 << 9, typed=False)"
    }


def test_code_is_exchanged_for_everybody_who_has_it(file: Path):
    spec = importlib.util.spec_from_file_location("made_for_mutation", file)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    clip, box = made.clip, made.Box()
    gc.freeze()  # as tests/conftest.py does with what it has collected
    swapping = Swapping(str(file), TEXT)
    changed = swapping.change(TEXT.replace("value // unit", "value * unit"))
    assert changed is not None
    assert (clip(1, 2), list(changed)) == (0, ["clip"])
    swapping.swap(changed)
    assert clip(1, 2) == 2
    changed = swapping.change(TEXT.replace("self.held.append(what)", "pass"))
    assert changed is not None
    swapping.swap(changed)
    box.put(1)
    assert box.held == []
    made_before = TEXT.replace("value + more", "value - more")
    assert swapping.change(made_before) is None, "`add_two` would stay as it is"


@pytest.mark.parametrize(
    ("old", "new"), [("MOST = 3", "MOST = 4"), ("= None)", "= 7)"), ("class Box", "class Cup")]
)
def test_what_is_done_at_import_cannot_be_exchanged(file: Path, old: str, new: str):
    assert Swapping(str(file), TEXT).change(exchanged(old, new)(TEXT)) is None


def test_a_planted_module_is_compiled_from_its_other_text(file: Path, monkeypatch):
    monkeypatch.syspath_prepend(str(file.parent))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    plant({"made_for_mutation": exchanged("MOST = 3", "MOST = 5")})
    import made_for_mutation  # type: ignore[import-not-found]

    assert made_for_mutation.clip(9) == 5
    assert made_for_mutation.__file__ == str(file)
    with pytest.raises(RuntimeError, match="imported already"):
        plant({"made_for_mutation": exchanged("MOST = 3", "MOST = 6")})
    del sys.modules["made_for_mutation"]
    with pytest.raises(LookupError, match="found 0 times"):
        exchanged("MOST = 4", "")(TEXT)


def test_what_is_covered_is_there():
    for source, tests in covered.TESTS.items():
        for name in (source, *covered.files_of(tests)):
            assert (covered.HERE / name).is_file(), name


def test_the_page_says_what_was_measured_last():
    assert page.PAGE.read_text(encoding="utf-8") == page.text(), (
        "python -m tests.mutation renews it"
    )


def test_what_survived_is_tried_again_and_a_file_that_changed_is_not() -> None:
    found = mutants(covered.HERE / "orchestrator/run/fidelity_thresholds.py")
    last = {(found[1].line, found[1].key), (found[-1].line, found[-1].key)}
    again = Trying("orchestrator/run/fidelity_thresholds.py", 1, print, (len(found), last))
    assert [(one.line, one.key) for one in again._survivors((len(found), last))] == [
        (found[1].line, found[1].key),
        (found[-1].line, found[-1].key),
    ]
    assert again.wrong == ""
    for known in ((len(found) + 1, last), (len(found), {*last, (1, "is gone")})):
        assert again._survivors(known) == []
        assert again.wrong.endswith("try it whole")


def test_a_child_that_computes_is_waited_for_and_one_that_waits_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However little of a core it had: others may have them all."""
    monkeypatch.setattr(trying, "WALL_S", 0.2)
    monkeypatch.setattr(trying, "LEAST_S", 60)

    def computes() -> int:
        end = time.process_time() + 0.6
        while time.process_time() < end:
            pass
        return 7

    def waits() -> int:
        time.sleep(60)
        return 7

    assert trying._child(computes, 30) == 7
    assert trying._child(waits, 30) == -signal.SIGKILL


def test_a_child_lets_go_of_our_modules_and_keeps_libraries() -> None:
    rooms = ("orchestrator", "traces", "plugins", "tests")
    before = {name for name in sys.modules if name.partition(".")[0] in rooms}
    assert "tests.mutation.trying" in before

    def lets_go() -> int:
        trying._let_go()
        left = before & set(sys.modules)
        return 7 if not left and {"pytest", "cosmic_ray"} <= set(sys.modules) else 1

    assert trying._child(lets_go, 30) == 7


def test_survivors_are_listed_with_their_reasons(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page has their numbers; the command has their lines."""
    file = next(iter(covered.TESTS))
    survivors = [
        {"line": 3, "outcome": "survived", "change": "a + 1  ->  a + 2"},
        {"line": 9, "outcome": "timeout", "change": "b < c  ->  b <= c"},
    ]
    score = {"mutants": 10, "found": 8, "survivors": survivors}
    monkeypatch.setattr(page, "SCORES", tmp_path / "scores.json")
    monkeypatch.setattr(page, "REASONS", tmp_path / "reasons.toml")
    page.REASONS.write_text(f'["{file}"]\n"a + 1" = "both are odd"\n', encoding="utf-8")
    page.keep(file, score)
    assert page.survivors_text(file).splitlines() == [
        f"{file}: 8 of 10 found, 80%",
        *("  line 3: both are odd", "    - a + 1", "    + a + 2"),
        *("  line 9: no reason (timeout)", "    - b < c", "    + b <= c"),
    ]
    assert f"`{file}` | 10 | 80% | 90% | 1 | 1 |" in page.text()
    assert "not yet tried" in page.survivors_text("other.py")
