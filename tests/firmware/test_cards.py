"""Plans on cards: emulated ones, by device files with Verilated gateware behind them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from firmware.cards.card_check import check_plan
from firmware.registers.register_map import RegisterMap
from firmware.registers.register_maps import CARD_CLOCK, NIC, QCN_RP
from firmware.registers.register_window import Window
from firmware.verilated.model_build import missing_tools
from orchestrator.cli.main import command_line
from orchestrator.errors import Refused
from orchestrator.plan import Plan, ResolvedPlan
from orchestrator.registry import Registry
from orchestrator.run.execute_run import run
from orchestrator.testbed.inventory import Testbed
from tests.firmware.emulated.lab import GIT_HASH, OFFSET, Cards
from tests.firmware.emulated.trap import devices, traps
from traces.pytest_plugin.target_runner import Lab

PLAN = Path(__file__).parent / "plans" / "cards.toml"
LEAD_PS = 1_000_000_000
"""Of emulated time, in which everything is set long before."""

pytestmark = [pytest.mark.skipif(missing_tools() is not None, reason=str(missing_tools())), traps]
Captured = pytest.CaptureFixture[str]


class Bed:
    """The emulated lab and a testbed.toml that names its cards."""

    def __init__(self, folder: Path, cards: Cards) -> None:
        self.folder, self.cards = folder, cards

    def file(self, **changes: Any) -> str:
        """testbed.toml, some keys of its card `left` changed."""
        left = {"device": str(self.cards.nics), "nodes": ["nic1", "nic2"]} | changes
        keys = "\n".join(f"{key} = {json.dumps(value)}" for key, value in left.items())
        path = self.folder / "testbed.toml"
        path.write_text(
            f"[cards.left]\n{keys.replace(': ', ' = ')}\n\n[cards.middle]\n"
            f'device = "{self.cards.switches}"\noffset = {OFFSET}\nnodes = ["switch"]\n'
        )
        return str(path)

    def run(self, capsys: Captured, *words: str, **changes: Any) -> tuple[int, str, str]:
        """`tailback run` on the cards: exit code, stdout, stderr."""
        out = str(self.folder / "runs")
        command = ["run", str(PLAN), "--target", "gateware", "--out", out, "--no-report", "--json"]
        code = command_line([*command, "--testbed", self.file(**changes), *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    def refused(self, capsys: Captured, *words: str, **changes: Any) -> str:
        """What was said when it was refused with exit code 2 and no run folder."""
        code, out, err = self.run(capsys, *words, **changes)
        assert (code, out) == (2, ""), err
        assert "Traceback" not in err
        assert not list((self.folder / "runs").glob("*/*"))
        return " ".join(err.split())


@pytest.fixture
def bed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Bed]:
    """Two emulated cards, in whose time the run goes by; all mappings are to be closed again."""
    resolved = Plan.load(PLAN.read_text()).check(Registry.load())
    with devices(tmp_path, monkeypatch) as found, Cards(resolved, tmp_path, found) as cards:
        monkeypatch.setattr("firmware.cards.card_target.WallClock", lambda: cards)
        monkeypatch.setattr("firmware.cards.card_fleet.LEAD_PS", LEAD_PS)
        yield Bed(tmp_path, cards)
        assert found.open == 0


def test_a_plan_runs_on_cards_as_on_models(bed: Bed, capsys: Captured) -> None:
    """The same gateware behind registers: the same messages, rates and queues."""
    code, out, err = bed.run(capsys)
    assert code == 0, err
    told = json.loads(out)
    assert told["fidelity"]["verdict"] == "valid", told["fidelity"]
    assert told["fidelity"]["start_error_s"]["left"] < 1e-6
    models = run(Plan.load(PLAN.read_text()), target="gateware", out=None).result["metrics"]
    for phase, entities in told["metrics"].items():
        for entity in ("switch.sink", "one", "two"):
            for metric, value in entities[entity].items():
                expected = models[phase][entity][metric]
                if not metric.startswith(("feedback.", "frames.")):
                    continue
                # a frame may pass between the readings of registers of one sample
                slack = 0 if metric.startswith("feedback.") else 2
                assert abs(value - expected) <= slack, (phase, entity, metric)
    assert models["after"]["switch.sink"]["feedback.sent"] >= 5
    rates = told["metrics"]["after"]["nic1.rp0"], models["after"]["nic1.rp0"]
    assert rates[0]["rate_bps.min"] == rates[1]["rate_bps.min"] < 10**9


def test_what_cards_do_not_count_is_absent_and_what_they_are_is_kept(
    bed: Bed, capsys: Captured
) -> None:
    code, out, err = bed.run(capsys, "--set", "duration=1.6ms", "--set", "phases.after.to=1.6ms")
    assert code == 1, err  # five messages do not come so soon
    told = json.loads(out)
    assert "throughput_bps" not in told["metrics"]["run"]["one"]
    assert "sink>switch" not in told["metrics"]["run"]
    assert "sinks" in told["fidelity"]["not_measured"]
    sent = sum(told["metrics"]["run"][flow]["frames.sent"] for flow in ("one", "two"))
    assert sent > 100
    assert sum(bed.cards.arrived.values()) > 0.5 * sent

    manifest = json.loads((Path(told["folder"]) / "manifest.json").read_text())["cards"]
    left = manifest["left"]
    assert left["bitstream"]["git_hash"] == f"{GIT_HASH:#010x}"
    assert left["bitstream"]["app_id"] == "0x51420100"
    assert "1 limiters, 2 flows" in left["nodes"]["nic2"]
    assert "64 bit at 125 MHz" in left["nodes"]["nic2"]
    assert manifest["middle"]["bitstream"] == {"vendor": "0x000010ee", "device": "0x00007028"}
    assert manifest["middle"]["windows"][0]["module"] == "qcn_switch"

    # nothing is left that sends
    nics = [Window(bus, 0, NIC) for bus in bed.cards.application.nics]
    before = [nic.counters()["sent_frames"] for nic in nics]
    bed.cards.until(bed.cards.now() + 200_000_000)
    assert [nic.counters()["sent_frames"] for nic in nics] == before
    assert sum(before) >= sent


LACKS = [
    (
        ["--set", "nodes.nic2.reaction_points=4"],
        {},
        "it has 1 reaction points for nic2, the plan wants 4",
    ),
    (["--set", "links.up1.rate=10Gb/s"], {}, "links of nic1 have 10 Gb/s.*width for 8 Gb/s"),
    (["--set", "nodes.nic1.host_queue=60KB"], {}, "holds 4 frames, the plan wants 40"),
    (["--set", "links.up1.delay_back=5us"], {}, "lacks the register block delay_line, for"),
    (["--set", "links.up1.delay=5us"], {}, "switch.nic1: a card delays only what a NIC"),
    (
        ["--set", "nodes.switch.congestion_point.sampling=occupancy-random"],
        {},
        "it samples occupancy in 0 units of 256 octets, the plan wants",
    ),
    (["--set", "nodes.switch.buffer=2MB"], {}, "holds 262144 octets, the plan wants 2000000"),
    ([], {"nodes": ["nic1"]}, "nic2: no card of the testbed serves it"),
    ([], {"nodes": ["nic1", "x", "nic2"]}, "no node number 3, which is to serve nic2; it has a"),
    ([], {"bitstream": {"git_hash": 5}}, "git_hash of its bitstream is 0x1234abcd.*wants 0x5"),
    ([], {"device": "/nowhere/mqnic0"}, "card /nowhere/mqnic0: there is no such device"),
    (["--set", "nodes.nic1.target=simulated"], {}, "nic1: it wants to be simulated"),
    (["--set", 'capture.ports=["switch.sink"]'], {}, "cards capture no frames"),
    ([], {"colour": "red"}, "cards.left.colour: unknown"),
]


def test_what_a_card_lacks_is_refused_by_name(bed: Bed, capsys: Captured) -> None:
    for words, changes, match in LACKS:
        said = bed.refused(capsys, *words, **changes)
        assert re.search(match, said), said


@pytest.mark.parametrize(
    ("block", "match"),
    [
        (QCN_RP, "reaction_point qcn-rp of nic1.*register block qcn_rp.*it has a nic"),
        (CARD_CLOCK, "lacks the register block card_clock"),
    ],
)
def test_a_register_block_that_is_not_there_is_named(
    bed: Bed, capsys: Captured, block: RegisterMap, match: str
) -> None:
    bed.cards.application.without(block.identity)
    said = bed.refused(capsys)
    assert "card left (" in said
    assert re.search(match, said), said


def test_a_card_that_is_gone_in_the_middle_fails_the_run(bed: Bed, capsys: Captured) -> None:
    bed.cards.application.gone_at = bed.cards.now() + LEAD_PS + 500_000_000
    code, out, err = bed.run(capsys)
    assert (code, out) == (3, "")
    assert "CONTROL reads 0xffffffff" in err
    assert not list((bed.folder / "runs").glob("*/*"))


def test_a_test_of_ones_own_runs_on_cards(bed: Bed) -> None:
    """As `--tailback-target gateware --tailback-testbed FILE` does it."""
    lab = Lab("gateware", cards=Testbed.load(Path(bed.file())))
    assert lab.column == "card"
    assert lab.lacks("card") is None
    assert "cards capture nothing" in (lab.lacks("timestamping") or "")
    seen = lab.run(PLAN, "duration=1.6ms", "phases.after.to=1.6ms")
    assert seen.sampled("nic1.rp0", "current_rate")[0] == 10**9
    assert seen.sampled("switch.sink", "queue_bytes")[-1] > 10_000


def test_cards_are_listed_with_what_they_have(bed: Bed, capsys: Captured) -> None:
    assert command_line(["gateware", "list", "--testbed", bed.file()]) == 0
    shown = capsys.readouterr().out
    assert f"card left ({bed.cards.nics}): " in shown
    assert f"git_hash {GIT_HASH:#010x}" in shown
    assert "a switch (3 ports of 262144 octets" in shown
    path = bed.file(device="/nowhere/mqnic0")
    assert command_line(["gateware", "list", "--testbed", path, "--json"]) == 0
    cards = json.loads(capsys.readouterr().out)["cards"]
    assert cards[0]["trouble"].startswith("there is no such device")


def test_a_testbed_is_for_targets_with_cards(tmp_path: Path, capsys: Captured) -> None:
    path = tmp_path / "testbed.toml"
    path.write_text('[cards.a]\ndevice = "/dev/mqnic0"\nnodes = ["nic"]\n')
    run = ["run", "quickstart", "--testbed", str(path), "--out", str(tmp_path)]
    assert command_line(run) == 2
    assert "--testbed: target simulated does not take it" in capsys.readouterr().err
    assert command_line([*run, "--controller", "tcp://127.0.0.1:1"]) == 2
    assert "not together with --controller" in capsys.readouterr().err
    assert command_line(["controller", str(path)]) == 2
    assert "[machines.NAME] is expected" in capsys.readouterr().err
    path.write_text('[cards.a]\ndevice = "mqnic0"\nnodes = ["nic"]\n[cards.b]\nnodes = ["nic"]\n')
    assert command_line([*run, "--target", "gateware"]) == 2
    said = capsys.readouterr().err
    assert "cards.a.device" in said
    assert "cards.b.device" in said


def test_a_step_holds_ports_of_cards_and_no_others() -> None:
    """A sink's port is the end of a cable, which no register reaches."""
    served = {"nic1", "nic2", "switch"}
    for port in ("switch.sink", "nic1.switch"):
        check_plan(_with_hold(port), served)
    with pytest.raises(Refused, match=r"pause of sink\.switch, which is on no card"):
        check_plan(_with_hold("sink.switch"), served)


def _with_hold(port: str) -> ResolvedPlan:
    step = f'\n[[timeline]]\nat = "1ms"\npause = "{port}"\n'
    return Plan.load(PLAN.read_text() + step).check(Registry.load())
