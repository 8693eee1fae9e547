"""What runs reach of algorithms' Verilog: read, told apart by algorithm, excused, added up."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from firmware.coverage import coverage_collector
from firmware.coverage.coverage_collector import (
    MODULES_BY_ALGORITHM,
    NOT_IN_MODELS,
    WAIVER,
    RtlCoverage,
    algorithm_of_instance,
    module_text,
    waiver_reason,
)
from firmware.coverage.verilator_counters import CoveragePoint, PointCount, read_counters
from firmware.verilog_modules import RTL, files
from orchestrator.errors import RunFailed
from orchestrator.registry import Registry

NIC = "TOP.qcn_nic.limiters.reaction_points"
PORT = "TOP.qcn_switch.ports[0].port.cp"


def written(path: Path, *rows: tuple[str, int, int, str, str, int]) -> Path:
    """A file as Verilator writes it."""
    text = ["# SystemC::Coverage-3"]
    for file, line, column, kind, instance, count in rows:
        fields = {"f": file, "l": line, "n": column, "page": "v_branch/x", "o": kind, "h": instance}
        joined = "".join(f"\x01{name}\x02{value}" for name, value in fields.items())
        text.append(f"C '{joined}' {count}")
    path.write_text("\n".join(text) + "\n")
    return path


def test_counters_are_read_with_their_place_and_instance(tmp_path: Path) -> None:
    file = str(RTL / "qcn_rp.v")
    path = written(tmp_path / "0.dat", (file, 9, 5, "if", NIC, 3), (file, 9, 6, "else", NIC, 0))
    assert list(read_counters(path)) == [
        PointCount(CoveragePoint("qcn_rp", 9, 5, "if"), NIC, 3),
        PointCount(CoveragePoint("qcn_rp", 9, 6, "else"), NIC, 0),
    ]


def test_a_kept_model_may_be_of_another_clone(tmp_path: Path) -> None:
    other = tmp_path.joinpath("clone", *RTL.parts[-2:], "qcn_rp.v")
    path = written(tmp_path / "0.dat", (str(other), 9, 5, "if", NIC, 3))
    assert list(read_counters(path)) == [PointCount(CoveragePoint("qcn_rp", 9, 5, "if"), NIC, 3)]
    below = "registers/flow_sources_registers.v"
    path = written(tmp_path / "2.dat", (str(other.parent / below), 3, 1, "case", NIC, 3))
    assert [one.point.module for one in read_counters(path)] == ["flow_sources_registers"]
    absent = other.with_name("absent.v")
    with pytest.raises(RunFailed, match="no place in our Verilog"):
        list(read_counters(written(tmp_path / "1.dat", (str(absent), 9, 5, "if", NIC, 3))))


def test_what_is_no_count_of_our_verilog_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="no lines were counted"):
        list(read_counters(tmp_path / "absent.dat"))
    with pytest.raises(RunFailed, match="no counters"):
        list(read_counters(written(tmp_path / "empty.dat")))
    with pytest.raises(RunFailed, match="no place in our Verilog"):
        list(read_counters(written(tmp_path / "other.dat", ("/tmp/x.v", 1, 1, "if", NIC, 1))))
    with pytest.raises(RunFailed, match="no place in our Verilog"):
        list(
            read_counters(written(tmp_path / "odd.dat", (str(RTL / "jitter.v"), 1, 1, "?", NIC, 1)))
        )


def test_an_instance_is_of_the_algorithm_around_it() -> None:
    modules = {
        NIC: "qcn_rp",
        f"{NIC}.jitter": "jitter",
        f"{NIC}.jitter.share_of": "multiply",
        "TOP.qcn_nic.limiters.buckets": "token_bucket",
        "TOP.qcn_nic.limiters.buckets.make_gain": "multiply",
        PORT: "qcn_cp",
        f"{PORT}.sampler.jitter": "jitter",  # the sampler between has no counter here
        "TOP.qcn_switch.ports[0].cp_registers": "qcn_cp_registers",
    }
    whose = {instance: algorithm_of_instance(instance, modules) for instance in modules}
    rp, cp = ("reaction_point", "qcn-rp"), ("congestion_point", "qcn-cp")
    assert list(whose.values()) == [rp, rp, rp, None, None, cp, cp, None]
    assert (
        algorithm_of_instance(f"{NIC}x.jitter", {f"{NIC}x.jitter": "jitter", NIC: "qcn_rp"}) is None
    )


def test_every_algorithm_that_gateware_runs_has_its_modules_or_a_reason() -> None:
    capabilities = Registry.load().target("gateware").capabilities
    algorithms = Registry.load().algorithms
    run = {(one.kind, one.name) for one in algorithms if not one.lacks(capabilities)}
    assert run == {*MODULES_BY_ALGORITHM, *NOT_IN_MODELS}
    assert {name for names in MODULES_BY_ALGORITHM.values() for name in names} <= {
        one.stem for one in files()
    }


def test_a_remark_excuses_one_way_of_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    text = (
        "// never else: nobody does",
        "if (a) b <= c ? d : e;  // never cond_then (20) on qcn-cp: it is not so",
        "if (f)",
    )
    monkeypatch.setattr(coverage_collector, "module_text", lambda module: text)
    assert waiver_reason(CoveragePoint("x", 2, 2, "else"), "qcn-rp") == "nobody does"
    assert waiver_reason(CoveragePoint("x", 2, 1, "if"), "qcn-rp") is None
    assert waiver_reason(CoveragePoint("x", 2, 20, "cond_then"), "qcn-cp") == "it is not so"
    assert waiver_reason(CoveragePoint("x", 2, 20, "cond_then"), "qcn-rp") is None
    assert waiver_reason(CoveragePoint("x", 2, 21, "cond_then"), "qcn-cp") is None
    assert waiver_reason(CoveragePoint("x", 3, 1, "else"), "qcn-cp") is None


def test_every_remark_in_the_verilog_has_a_kind_that_there_is() -> None:
    from firmware.coverage.verilator_counters import KINDS

    found = [WAIVER.search(line) for path in files() for line in module_text(path.stem)]
    kinds = [one["kind"] for one in found if one]
    assert len(kinds) > 5
    assert set(kinds) <= set(KINDS)


def noted(*points: PointCount) -> dict[str, Any]:
    lines = RtlCoverage(lambda folder: None)  # type: ignore[arg-type,return-value]
    assert lines.add(points) == sum(one.count > 0 for one in points)
    assert lines.add(points) == 0
    (found,) = [one for one in lines.reached()["algorithms"] if one["name"] == "qcn-rp"]
    return found | {"all": lines.reached()}


def test_what_one_run_reached_stays_reached_when_the_next_does_not() -> None:
    lines = RtlCoverage(lambda folder: None)  # type: ignore[arg-type,return-value]
    point = CoveragePoint("qcn_rp", 9, 5, "if")
    assert [lines.add([PointCount(point, NIC, count)]) for count in (0, 2, 0, 1)] == [0, 1, 0, 0]
    assert lines.reached()["kernels"]["reached"] == 1
    lines.add([PointCount(point, NIC, 0)])
    assert lines.reached()["kernels"]["reached"] == 1


def place(text: str) -> int:
    """The line of `qcn_rp.v` with a text."""
    (found,) = [number for number, line in enumerate(module_text("qcn_rp"), 1) if text in line]
    return found


def test_counts_of_all_runs_add_up_and_what_is_missing_is_named() -> None:
    line = place("if (!full) begin")
    told = noted(
        PointCount(CoveragePoint("qcn_rp", 9, 5, "if"), NIC, 3),
        PointCount(CoveragePoint("qcn_rp", 9, 6, "else"), NIC, 0),
        PointCount(CoveragePoint("qcn_rp", line, 22, "else"), NIC, 0),
        PointCount(CoveragePoint("multiply", 9, 5, "if"), "TOP.qcn_nic.buckets", 7),
    )
    assert (told["branches"], told["reached"], told["excused"]) == (2, 1, 1)
    assert told["modules"] == [{"name": "qcn_rp", "branches": 2, "reached": 1}]
    assert len(told["missing"]) == 1
    assert told["missing"][0].startswith("qcn_rp.v:9:6 `")
    assert told["missing"][0].endswith("` never false")
    assert told["never"][0].endswith("never false: 16 million expiries of one limiter; a bench "
                                     "sets such a stage")  # fmt: skip
    assert told["contradicted"] == []
    whole = told["all"]
    assert (whole["node"]["branches"], whole["node"]["reached"]) == (1, 1)


def test_what_is_reached_against_a_remark_is_told() -> None:
    told = noted(PointCount(CoveragePoint("qcn_rp", place("if (!full) begin"), 22, "else"), NIC, 1))
    assert (told["branches"], told["reached"], told["excused"]) == (1, 1, 0)
    assert len(told["contradicted"]) == 1
    assert told["never"] == []


def test_a_module_that_no_model_has_is_missing() -> None:
    whole = noted(PointCount(CoveragePoint("qcn_rp", 9, 5, "if"), NIC, 3))["all"]
    tables = {one["name"]: one for one in whole["algorithms"]}
    assert tables["qcn-cp"]["missing"] == [
        "qcn_cp.v: no plan had a model with it",
        "occupancy_sampler.v: no plan had a model with it",
    ]
    assert whole["kernels"] == {"branches": 5, "reached": 1, "excused": 0}


class Wrote:
    """A target whose models write so many files."""

    def __init__(self, folder: Path, count: int) -> None:
        self.folder, self.count = folder, count

    def run(self, *given: object) -> SimpleNamespace:
        file = str(RTL / "qcn_rp.v")
        for number in range(self.count):
            written(self.folder / f"{number}.dat", (file, 9, 5, "if", NIC, 1))
        return SimpleNamespace(fidelity={"models": {"nic": "", "switch": ""}})


def test_a_run_counts_by_files_of_its_own_one_a_model() -> None:
    folders: list[Path] = []

    def made(count: int) -> Iterator[Any]:
        def make(folder: Path) -> Any:
            assert list(folder.iterdir()) == []
            folders.append(folder)
            return Wrote(folder, count)

        return make  # type: ignore[return-value]

    assert RtlCoverage(made(2)).run(None) == 1  # type: ignore[arg-type]
    for count in (0, 1, 3):
        with pytest.raises(RunFailed, match=f"{count} of 2 models"):
            RtlCoverage(made(count)).run(None)  # type: ignore[arg-type]
    assert len(set(folders)) == 4
    assert not any(folder.exists() for folder in folders)
