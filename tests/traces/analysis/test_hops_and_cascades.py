"""What only several points tell: latency between them, and which pause caused which."""

from __future__ import annotations

import numpy as np
import pytest

from orchestrator.engine.frames import encode
from orchestrator.engine.frames.descriptor_reset import empty_descriptors
from orchestrator.engine.records import DATA, PAUSE
from orchestrator.recording import PortCapture
from traces import pcapng
from traces.analysis import Settings, analyze
from traces.analysis.latency_matching import FINE

US = 10**6
Seen = tuple[int, bool, np.ndarray, int]
"""Time in µs, outgoing, octets, length."""


def coded(kind: int, length: int, **fields: int) -> np.ndarray:
    record = empty_descriptors(1)
    record["kind"], record["length"] = kind, length
    for name, value in fields.items():
        record[name] = value
    octets = np.zeros(128, np.uint8)
    assert encode(record.view(np.recarray)[0], octets)
    return octets


def data(sequence: int, flow: int = 0) -> np.ndarray:
    return coded(DATA, 1500, source=7 + flow, destination=9, flow=flow, sequence=sequence)


def port(name: str, frames: list[Seen]) -> PortCapture:
    node, _, there = name.rpartition(".")
    lengths = np.array([length for *_, length in frames], np.int64)
    return PortCapture(
        node=node,
        port=there,
        times_ps=np.array([time for time, *_ in frames], np.int64) * US,
        outgoing=np.array([out for _, out, *_ in frames], bool),
        lengths=lengths,
        kept=np.minimum(lengths, 128),
        octets=np.array([octets for *_, octets, _ in frames], np.uint8).reshape(-1, 128),
        dropped=0,
    )


@pytest.mark.parametrize("files", [1, 3])
def test_latency_hop_by_hop(tmp_path, files) -> None:
    rng = np.random.default_rng(5)
    count, flows = 3000, 2
    sent = np.cumsum(rng.integers(5, 20, count))
    first, second = rng.integers(10, 100, count), rng.integers(1, 2000, count)
    lost = rng.random(count) < 0.1
    captures: list[list[Seen]] = [[], [], []]
    for index in range(count):
        frame = data(index // flows, index % flows)
        at = int(sent[index])
        captures[0].append((at, True, frame, 1500))
        if not lost[index]:
            captures[1].append((at + int(first[index]), False, frame, 1500))
            captures[2].append((at + int(first[index] + second[index]), True, frame, 1500))
    ports = [
        port(name, sorted(frames, key=lambda one: one[0]))
        for name, frames in zip(("a.out", "b.in", "b.out"), captures, strict=True)
    ]
    if files == 1:
        pcapng.write(tmp_path / "all.pcapng", ports)
        paths = [tmp_path / "all.pcapng"]
    else:
        paths = [tmp_path / f"{index}.pcapng" for index in (2, 0, 1)]
        for index, one in enumerate(ports):
            pcapng.write(tmp_path / f"{index}.pcapng", one)
    found = analyze(*paths)
    hops = {(one.before, one.after, one.flow): one for one in found.latency}
    assert len(hops) == 4
    for flow in range(flows):
        mine = (np.arange(count) % flows == flow) & ~lost
        for ends, delays in ((("a.out", "b.in"), first), (("b.in", "b.out"), second)):
            hop = hops[*ends, flow]
            exact = delays[mine]
            assert (hop.frames, hop.other_paths) == (len(exact), 0)
            assert hop.latency_s["min"] == pytest.approx(exact.min() / 1e6)
            assert hop.latency_s["max"] == pytest.approx(exact.max() / 1e6)
            assert hop.latency_s["mean"] == pytest.approx(exact.mean() / 1e6)
            for label, share in (("p50", 0.5), ("p99", 0.99)):
                reached = np.quantile(exact, share, method="inverted_cdf") / 1e6
                # as in result.json: what so many frames do not exceed, by a bin at most above it
                assert reached - 1e-12 <= hop.latency_s[label] <= reached * (1 + 1 / FINE)
            order = [hop.latency_s[name] for name in ("min", "p50", "p99", "max")]
            assert order == sorted(order)


def pause(source: int, quanta: int) -> np.ndarray:
    return coded(PAUSE, 60, source=source, feedback=quanta)


QUANTUM_US = 0.512
"""At 1 Gb/s."""


def test_pause_times(tmp_path) -> None:
    frames: list[Seen] = [
        (0, False, data(0), 1500),
        (1000, False, pause(3, 1000), 60),  # until 1512
        (1400, False, pause(3, 1000), 60),  # renewed until 1912
        (3000, False, pause(3, 0xFFFF), 60),
        (5000, False, pause(3, 0), 60),  # ended after 2000
        (6000, False, pause(3, 0), 60),
        (9000, False, pause(4, 0xFFFF), 60),  # longer than the capture
        (10_000, False, data(1), 1500),
    ]
    path = tmp_path / "a.pcapng"
    pcapng.write(path, port("switch.nic", frames))
    settings = Settings(rate_bps=10**9, storm_ns=2_000_000)
    (seen,) = analyze(path, settings=settings).interfaces
    one, other = seen.links
    assert (seen.pauses, seen.resumes) == (4, 2)
    assert (one.source, one.direction, one.priority) == ("02:54:42:00:00:03", "in", None)
    assert (one.frames, one.resumes, one.spells, one.storms) == (5, 2, 2, 1)
    assert one.paused_s == pytest.approx((912 + 2000) / 1e6)
    assert one.duty == pytest.approx(0.2912)
    assert one.longest_s == pytest.approx(2000 / 1e6)
    assert other.paused_s == pytest.approx(1000 / 1e6)
    (seen,) = analyze(path).interfaces
    assert [link.paused_s for link in seen.links] == [None, None]
    assert [link.quanta for link in seen.links] == [67535, 0xFFFF]


def test_pfc_priorities_are_paused_on_their_own(tmp_path) -> None:
    octets = np.zeros(128, np.uint8)
    text = "0180c2000001 025442000003 8808 0101 0009 03e8 0000 0000 07d0" + "00" * 8
    octets[: len(bytes.fromhex(text))] = list(bytes.fromhex(text))
    path = tmp_path / "a.pcapng"
    frames = [(0, True, octets, 60), (5000, True, data(0), 1500)]
    pcapng.write(path, port("switch.nic", frames))
    (seen,) = analyze(path, settings=Settings(rate_bps=10**9)).interfaces
    assert [(one.priority, one.direction, one.frames) for one in seen.links] == [
        (0, "out", 1),
        (3, "out", 1),
    ]
    paused = [one.paused_s for one in seen.links]
    assert paused == pytest.approx([1000 * QUANTUM_US / 1e6, 2000 * QUANTUM_US / 1e6])
    assert seen.frames["pfc"] == 1


def cascade(tmp_path):
    """Sink stops leaf, which stops spine, which stops nic; one pause of the spine's is its own."""
    end: Seen = (20_000, True, data(0), 1500)
    ports = {
        "leaf.sink": [(1000, False, pause(1, 8000), 60), end],
        "leaf.spine": [(2000, True, pause(2, 8000), 60), end],
        "spine.leaf": [(2005, False, pause(2, 8000), 60), end],
        "spine.nic": [(500, True, pause(3, 100), 60), (3000, True, pause(3, 4000), 60), end],
    }
    paths = []
    for name, frames in ports.items():
        paths.append(tmp_path / f"{name}.pcapng")
        pcapng.write(paths[-1], port(name, frames))
    return paths


def test_cascades(tmp_path) -> None:
    found = analyze(*cascade(tmp_path), settings=Settings(rate_bps=10**9))
    steps = [(one.node, one.cause_begin_s, one.effect_begin_s) for one in found.cascades]
    # times count from the first spell, at 500 µs
    assert steps == [
        ("leaf", pytest.approx(0.0005), pytest.approx(0.0015)),
        ("spine", pytest.approx(0.001505), pytest.approx(0.0025)),
    ]
    assert found.cascades_note is None
    assert analyze(*cascade(tmp_path)).cascades_note is not None


def test_the_tree_of_a_cascade(tmp_path) -> None:
    from traces.analysis import pause_cascade as cascades
    from traces.analysis import read_captures
    from traces.analysis.flow_labels import point_names

    found = read_captures(*cascade(tmp_path), settings=Settings(rate_bps=10**9))
    links = found.collected.pausing.links
    names = point_names(found.collected)
    places = [cascades.capture_point_of(names[link.point], link.direction) for link in links]
    causes = [(one.cause, one.effect) for one in found.analysis.cascades]
    same = cascades.both_ends_of_link(found.spells, places, [link.source for link in links])
    levels = cascades.depth(causes, same)
    by_name = {names[links[found.spells["link"][row]].point]: n for row, n in levels.items()}
    assert by_name == {"leaf.sink": 0, "leaf.spine": 1, "spine.leaf": 1, "spine.nic": 2}
