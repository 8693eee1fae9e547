"""What is called by address is kept and loaded without numba, which takes what C cannot."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from orchestrator import private_cache
from orchestrator.engine import cache_paths, object_cache
from orchestrator.engine.jit import DISABLED, compiled
from orchestrator.engine.kernel_guards import FREE, INDEX
from orchestrator.engine.lazy_imports import LazyIntrinsic
from orchestrator.engine.object_cache import UNFIT
from tests.orchestrator.engine.written import written

pytestmark = pytest.mark.skipif(DISABLED, reason="nothing is compiled")

FUNCTIONS = '''"""Written for one test: no earlier run has kept any of it."""

from orchestrator.engine.jit import compiled

TABLE = (3, 4, 5)


@compiled
def total(first, second):
    """A number of the same type."""
    return first + 2 * second


@compiled
def first(values):
    """Of an array or a tuple."""
    return values[0]


@compiled
def nothing(value):
    """None."""


@compiled
def is_odd(value):
    """A truth value is none of what an entry returns."""
    return value % 2 == 1


@compiled
def strict(value):
    """Raises an exception."""
    if value < 0:
        raise ValueError("below 0")
    return value + 1


def made(factor):
    """A function that passes for one of the module's."""

    def scaled(value):
        return factor * value

    scaled.__qualname__ = "scaled"
    return compiled(scaled)


scaled = made(3)


def kernel(state, params, entity, frame, now, message):
    """An index may be out of range, which nobody can be told."""
    state.seen += TABLE[params.place]
    return TABLE[params.place]
'''
KERNEL = """
import sys
import numpy as np
from orchestrator.engine import kernel_guards
from orchestrator.engine.jit import call_kernel, compiled, kernel_address, record_address
from orchestrator.engine.records import FRAME, QUEUE, record
import kernels

@compiled
def call(kernel, state, params, entity, frame, now):
    return call_kernel(kernel, state, params, entity, frame, now, frame)

STATE, PARAMS = record("seen"), record("place")
state, params = np.zeros(1, STATE), np.full(1, int(sys.argv[1]), PARAMS)
address = kernel_address(kernels.kernel, STATE, PARAMS, QUEUE)
print("numba" in sys.modules)
entity, frame = np.zeros(1, QUEUE).view(np.recarray), np.zeros(1, FRAME).view(np.recarray)
places = record_address(state), record_address(params)
found = call(address, *places, entity[0], frame[0], 0)
print(found if int(sys.argv[1]) < 3 else "called", state["seen"][0], kernel_guards.CELL[0])
"""


@pytest.fixture
def functions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Those functions, of which nobody has compiled any yet."""
    return written(tmp_path, "functions", FUNCTIONS, monkeypatch)


def files(folder: Path) -> list[Path]:
    """What is kept."""
    return sorted((folder / "cache" / "entries").glob("*"))


def test_results_have_the_types_that_numba_gives(functions: ModuleType) -> None:
    for value in (functions.total(3, 4), functions.total(np.int64(3), 4)):
        assert (value, type(value)) == (11, int)
    assert (functions.total(1.5, 2), type(functions.total(0.0, 0))) == (5.5, float)
    assert functions.nothing(1) is None
    assert functions.is_odd(3) is True
    assert functions.total(first=1, second=2) == 5
    assert {type(one) for one in functions.total.entries.values()} == {object_cache.Entry}
    assert set(functions.is_odd.entries.values()) == {UNFIT}


def test_a_number_too_large_for_int64_is_not_cut_off(functions: ModuleType) -> None:
    assert functions.total(0, -(1 << 62)) == -(1 << 63)
    for large in (1 << 63, 1 << 64, -(1 << 63) - 1):
        assert object_cache.kinds_of((large,)) is None
    assert functions.is_odd((1 << 63) + 1) is True  # numba's uint64
    assert functions.total(True, np.int8(3)) == 7


def test_arrays_and_whatever_else_c_does_not_have_are_numbas(functions: ModuleType) -> None:
    assert object_cache.kinds_of((1, np.zeros(1))) is None
    assert functions.first(np.arange(3, 6)) == 3
    assert functions.first((1.5, 2.5)) == 1.5
    assert not functions.first.entries


def test_an_exception_is_raised_now_and_in_a_later_process(
    functions: ModuleType, tmp_path: Path
) -> None:
    for _ in range(2):
        with pytest.raises(ValueError, match="below 0"):
            functions.strict(-1)
        assert functions.strict(1) == 2
        (file,) = files(tmp_path)
        assert object_cache.load(file) == UNFIT
        functions.strict.entries.clear()  # as in a process that has compiled nothing
        functions.strict._calls.clear()


def test_half_a_file_is_compiled_anew(functions: ModuleType, tmp_path: Path) -> None:
    assert functions.total(1, 2) == 5
    (file,) = files(tmp_path)
    whole = file.read_bytes()
    for broken in (b"", whole[:-1], whole[:20], whole + b"x", b"[]\n"):
        file.write_bytes(broken)
        assert object_cache.load(file) is None, broken
    functions.total.entries.clear()
    functions.total._calls.clear()
    assert functions.total(1, 2) == 5
    loaded = object_cache.load(file)
    assert isinstance(loaded, object_cache.Entry)
    assert loaded.loaded


def test_code_that_needs_what_is_not_there_is_not_loaded(
    functions: ModuleType, tmp_path: Path
) -> None:
    functions.total(1, 2)
    (file,) = files(tmp_path)
    content = private_cache.opened(f"entry {file.name}", file.read_bytes())
    assert content is not None
    head, _, code = content.partition(b"\n")
    entry = json.loads(head)
    assert isinstance(object_cache.load(file), object_cache.Entry)
    entry["needs"].append("a_function_that_is_nowhere")
    changed = json.dumps(entry).encode() + b"\n" + code
    file.write_bytes(private_cache.sealed(f"entry {file.name}", changed))
    assert object_cache.load(file) is None


def test_nothing_is_kept_where_nothing_can_be_written(
    functions: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.setenv(cache_paths.VARIABLE, str(tmp_path / "a-file" / "within"))
    assert functions.total(1, 2) == 5
    assert not files(tmp_path)


def test_a_full_disk_is_said_and_nothing_of_a_file_is_left(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def full(self: Path, to: Path) -> None:
        raise OSError(errno.ENOSPC, "no room")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="no room"):
        object_cache.store_entry(tmp_path / "entries" / "one.entry", b"code", "name", "int64")
    assert not list((tmp_path / "entries").iterdir())


def test_functions_that_are_made_anew_have_no_entry(functions: ModuleType) -> None:
    def times(factor: int) -> object:
        def multiplied(value):
            return factor * value

        return compiled(multiplied)

    two, three = times(2), times(3)
    assert (two(5), three(5)) == (10, 15)  # type: ignore[operator]
    assert object_cache.file_of(two.py_func, ("int64",)) is None  # type: ignore[attr-defined]
    assert functions.scaled(5) == 15
    assert object_cache.file_of(functions.scaled.py_func, ("int64",)) is None


def test_a_function_of_another_module_under_a_name_counts_by_what_it_is(
    functions: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = object_cache.file_of(functions.kernel, ("int64",))
    monkeypatch.setattr(functions, "TABLE", (3, 4, 6))
    assert object_cache.file_of(functions.kernel, ("int64",)) not in (before, None)
    monkeypatch.setattr(functions, "TABLE", {3: 4})
    assert object_cache.file_of(functions.kernel, ("int64",)) is None  # a value that cannot be told


def test_entries_of_another_engine_and_of_other_types_are_others(
    functions: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    def file(*kinds: str) -> Path | None:
        return object_cache.file_of(functions.total.py_func, kinds)

    before = file("int64", "int64")
    assert file("int64", "int64") == before
    assert file("int64", "float64") not in (before, None)
    monkeypatch.setattr(cache_paths, "sources_digest", lambda: "of another engine")
    assert file("int64", "int64") not in (before, None)


def test_several_threads_call_it_at_once(functions: ModuleType) -> None:
    found = list[int]()
    threads = [
        threading.Thread(target=lambda: found.append(functions.total(20, 11))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [42] * 4


def test_it_is_pickled_by_its_name(functions: ModuleType) -> None:
    assert pickle.loads(pickle.dumps(functions.total)) is functions.total
    assert functions.total.__doc__ == "A number of the same type."


def test_an_intrinsic_is_for_compiled_functions() -> None:
    with pytest.raises(TypeError, match="word_at is for compiled functions"):
        LazyIntrinsic("orchestrator.engine.intrinsics.memory_intrinsics:word_at")(1)


IMPORTED = """
import sys
import orchestrator.assembly
import orchestrator.engine.datapath.realtime_loop
import orchestrator.engine.node.event_loop
import orchestrator.engine.parallel_simulation
import orchestrator.engine.node_api
import traces.analysis
from orchestrator.registry import Registry
Registry.load().algorithms
print([name for name in ("numba", "llvmlite") if name in sys.modules])
"""


def test_numba_is_imported_by_nothing_that_only_defines_what_may_be_compiled() -> None:
    done = subprocess.run(
        [sys.executable, "-P", "-c", IMPORTED],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


def said(folder: Path, *words: str) -> tuple[list[str], str]:
    """What a process prints that calls the kernel, on stdout and stderr."""
    done = subprocess.run(
        [sys.executable, "called.py", *words],
        cwd=folder,
        env=os.environ
        | {
            "PYTHONPATH": os.pathsep.join([str(folder), *filter(None, sys.path)]),
            "NUMBA_CACHE_DIR": str(folder / "cache"),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split(), done.stderr


def test_a_kernel_is_loaded_without_numba_and_notes_that_an_index_is_out_of_range(
    tmp_path: Path,
) -> None:
    (tmp_path / "kernels.py").write_text(FUNCTIONS)
    (tmp_path / "called.py").write_text(KERNEL)
    assert said(tmp_path, "1") == (["True", "4", "4", str(FREE)], "")
    assert said(tmp_path, "2") == (["False", "5", "5", str(FREE)], "")
    assert said(tmp_path, "3") == (["False", "called", "3", str(INDEX)], "")
