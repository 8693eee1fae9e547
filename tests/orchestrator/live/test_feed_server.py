"""The feed of a run and its watchers: nothing is missed, nobody is waited for, nothing is left."""

from __future__ import annotations

import errno
import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zmq

from orchestrator.live import feed_client as client_module
from orchestrator.live import feed_codec, feed_messages, feed_server, session_registry
from orchestrator.live.feed_client import FeedClient
from orchestrator.live.live_session import Session
from orchestrator.live.sample_rows import AccumulatedRows
from orchestrator.plan import Plan
from orchestrator.recording import Column
from orchestrator.registry import Registry
from tests.orchestrator.worlds import line_of_three
from tests.patience import PATIENCE_S

COLUMNS = [Column("switch", "switch.sink", q, "B", "gauge") for q in ("queue_bytes", "bytes_out")]


@pytest.fixture
def folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A private folder of the test's own, with a short name: sockets lie in it."""
    path = tmp_path_factory.mktemp("f")
    path.chmod(0o700)
    monkeypatch.setenv(session_registry.VARIABLE, str(path))
    return path


@pytest.fixture
def session(folder: Path) -> Session:
    """A run that is under way, its samples put in by the test."""
    session = Session(Plan(**line_of_three()).check(Registry.load()), "simulated")
    session.begin(COLUMNS, AccumulatedRows(100_000, 2), ("set", "act", "halt"))
    return session


@pytest.fixture
def serving(session: Session) -> Iterator[feed_server.FeedServer]:
    """Its feed."""
    server = feed_server.FeedServer(
        session,
        session_registry.address_in(session_registry.sessions_folder() or Path(), session.run)
        or "",
    )
    server.start()
    yield server
    server.close()


def rows(session: Session, count: int) -> None:
    """So many further rows."""
    kept = session.rows
    assert isinstance(kept, AccumulatedRows)
    first = kept.count()
    numbers = np.arange(first, first + count)
    kept.add(numbers * 1000, np.stack([numbers, 2 * numbers], 1))


def received(client: FeedClient, until: Callable[[list[Any]], bool]) -> list[Any]:
    """Messages until there is enough of them."""
    found: list[Any] = []
    end = time.monotonic() + PATIENCE_S
    while not until(found):
        assert time.monotonic() < end, found[-3:]
        found += client.take()
        time.sleep(0.01)
    return found


def counted(found: list[Any]) -> int:
    return sum(len(m.times_ps) for m in found if isinstance(m, feed_messages.Samples))


def test_a_watcher_gets_plan_state_and_every_row_also_those_before_it_came(
    session: Session, serving: feed_server.FeedServer
) -> None:
    rows(session, 5000)
    session.happened(7, "cut", "up", {"live": True})
    session.say("a word")
    client = FeedClient(serving.address, session.run)
    client.start()
    found = received(client, lambda found: counted(found) >= 5000)
    rows(session, 300)
    found += received(client, lambda found: counted(found) >= 300)
    client.close()
    kinds = {message.kind for message in found}
    assert kinds == {"described", "state", "samples", "event", "said"}
    samples = [m for m in found if m.kind == "samples"]
    assert np.concatenate([m.values for m in samples])[:, 1].tolist() == list(range(0, 10_600, 2))
    described = next(m for m in found if m.kind == "described")
    assert Plan.load(described.plan_text) == session.resolved.plan
    assert [c.quantity for c in described.columns] == ["queue_bytes", "bytes_out"]


def test_a_run_that_rings_is_not_looked_at_in_between(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beats so far apart that they never come: what is received was rung for, or asked."""
    for module in (feed_server, client_module):
        monkeypatch.setattr(module, "HEARTBEAT_S", 1000.0)
    session.rings = True
    server = feed_server.FeedServer(
        session,
        session_registry.address_in(session_registry.sessions_folder() or Path(), session.run)
        or "",
    )
    server.start()
    client = FeedClient(server.address, session.run)
    client.start()
    received(client, lambda found: any(m.kind == "state" for m in found))
    rows(session, 300)
    session.ring()
    received(client, lambda found: counted(found) >= 300)
    session.say("a word")
    received(client, lambda found: any(m.kind == "said" for m in found))
    client.ask(feed_messages.Stop())
    received(client, lambda found: any(m.kind == "answer" for m in found))
    client.close()
    server.close()


def test_requests_are_answered_and_one_for_another_run_is_not_heard(
    session: Session, serving: feed_server.FeedServer
) -> None:
    client, stranger = (
        FeedClient(serving.address, session.run),
        FeedClient(serving.address, "other"),
    )
    for one in (client, stranger):
        one.start()
    number = client.ask(feed_messages.Stop())
    stranger.ask(feed_messages.Abort())
    found = received(client, lambda found: any(m.kind == "answer" for m in found))
    answer = next(m for m in found if m.kind == "answer")
    assert (answer.request, answer.done) == (number, True)
    assert session.stopping
    assert [m for m in stranger.take() if m.kind != "answer"] == []
    for one in (client, stranger):
        one.close()


def test_what_cannot_be_asked_now_is_refused_with_the_stage(
    session: Session, serving: feed_server.FeedServer
) -> None:
    session.over("done")
    client = FeedClient(serving.address, session.run)
    client.start()
    client.ask(feed_messages.Act(verb="cut", of="up"))
    found = received(client, lambda found: any(m.kind == "answer" for m in found))
    client.close()
    answer = next(m for m in found if m.kind == "answer")
    assert not answer.done
    assert "the run is over (done)" in answer.text


def test_a_watcher_that_takes_nothing_loses_rows_that_are_counted_and_stops_nobody(
    session: Session, serving: feed_server.FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feed_server, "PATIENCE_S", 0.2)
    monkeypatch.setattr(feed_server, "BATCH_OCTETS", 1 << 16)
    context = zmq.Context()
    idle = context.socket(zmq.DEALER)
    idle.setsockopt(zmq.RCVHWM, 1)
    idle.connect(serving.address)
    watch = feed_messages.Watch(run=session.run)
    idle.send_multipart(feed_codec.encode_message(watch))
    client = FeedClient(serving.address, session.run)
    client.start()
    end = time.monotonic() + PATIENCE_S
    total = 0
    while not any(w.dropped for w in serving.watchers.values()):
        assert time.monotonic() < end
        rows(session, min(2000, 100_000 - total))
        total = session.rows.count()
        while client._row < total:
            assert time.monotonic() < end
            time.sleep(0.01)
        idle.send_multipart(feed_codec.encode_message(watch))
    assert client.dropped == 0
    assert total > 0
    client.close()
    context.destroy(linger=0)


def test_a_batch_of_rows_is_as_large_as_it_may_be(
    session: Session, serving: feed_server.FeedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows(session, 1000)
    for octets, most in ((24 * 40, 40), (24 * 40 + 23, 40), (7, 1)):
        monkeypatch.setattr(feed_server, "BATCH_OCTETS", octets)
        samples = serving._samples(feed_server.Watcher(b"watcher", 0.0))
        assert samples is not None
        assert samples.times_ps.nbytes + samples.values.nbytes == 24 * most


def test_a_watcher_connects_again_and_misses_nothing(session: Session, folder: Path) -> None:
    address = session_registry.address_in(folder, session.run) or ""
    first = feed_server.FeedServer(session, address)
    first.start()
    client = FeedClient(address, session.run)
    client.start()
    rows(session, 10)
    found = received(client, lambda found: counted(found) >= 10)
    first.close()
    rows(session, 10)
    second = feed_server.FeedServer(session, address)
    second.start()
    found += received(client, lambda found: counted(found) >= 10)
    client.close()
    second.close()
    firsts = [(m.first, len(m.times_ps)) for m in found if m.kind == "samples"]
    assert sum(count for _, count in firsts) == 20
    assert firsts[-1][0] >= 10


def test_a_run_is_noted_while_it_goes_on_and_leaves_nothing(folder: Path) -> None:
    session = Session(Plan(**line_of_three()).check(Registry.load()), "simulated")
    with feed_server.serve_session(session) as address:
        (note,) = session_registry.running_sessions()
        assert (note.run, note.address) == (session.run, address)
        assert [thread.name for thread in threading.enumerate()].count("feed") == 1
    assert session_registry.running_sessions() == []
    assert list(folder.iterdir()) == []
    assert "feed" not in [thread.name for thread in threading.enumerate()]


@pytest.mark.parametrize("when", ["bind", "note", "start", "end"])
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EACCES, errno.EDQUOT])
@pytest.mark.usefixtures("folder")
def test_a_run_goes_on_without_a_feed(
    code: int, when: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(code, os.strerror(code))

    def cannot_bind(*_: object) -> None:
        raise zmq.ZMQError(code)

    patched: dict[str, tuple[Any, str, Any]] = {
        "bind": (zmq.Socket, "bind", cannot_bind),
        "note": (Path, "write_text", fails),
        "start": (feed_server.FeedServer, "start", fails),
        "end": (Path, "unlink", fails),
    }
    session = Session(Plan(**line_of_three()).check(Registry.load()), "simulated")
    reached = []
    with monkeypatch.context() as patch:
        patch.setattr(*patched[when])
        with feed_server.serve_session(session) as address:
            reached.append(address)
    assert (reached == [None]) == (when != "end")
    assert len(reached) == 1
    said = capsys.readouterr().err
    assert ("this run cannot be watched" in said) == (when != "end")
    assert "feed" not in [thread.name for thread in threading.enumerate()]
    with pytest.raises(ZeroDivisionError), feed_server.serve_session(session):
        raise ZeroDivisionError  # errors of the run are its own


def test_the_end_is_told_also_when_it_is_a_failure(folder: Path) -> None:
    session = Session(Plan(**line_of_three()).check(Registry.load()), "simulated")
    client = None
    with pytest.raises(KeyboardInterrupt), feed_server.serve_session(session) as address:
        client = FeedClient(address or "", session.run)
        client.start()
        received(client, lambda found: any(m.kind == "state" for m in found))
        raise KeyboardInterrupt
    assert client is not None
    found = received(client, lambda found: any(m.kind == "state" for m in found))
    client.close()
    assert found[-1].stage == "aborted"


def test_notes_of_dead_runs_are_removed_and_a_folder_of_others_is_not_used(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    note = session_registry.SessionNote(
        run="x", plan="p", target="t", process=2**22 + 1, address="ipc:///x", started=0.0
    )
    (folder / "x.json").write_text(note.model_dump_json())
    (folder / "x.feed").write_text("")
    (folder / "y.json").write_text("not a note")
    assert session_registry.running_sessions() == []
    assert [path.name for path in folder.iterdir()] == ["y.json"]
    folder.chmod(0o755)
    assert session_registry.sessions_folder() is None


def test_rows_come_before_one_would_see_them_jump(
    session: Session, serving: feed_server.FeedServer
) -> None:
    """Of a run that does not ring: ten times in a second, or more often; waits for what there is,
    and is not looked at all the time."""
    client = FeedClient(serving.address, session.run)
    client.start()
    received(client, lambda found: any(m.kind == "state" for m in found))
    delays = []
    for _ in range(5):
        rows(session, 10)
        began, count = time.monotonic(), session.rows.count()
        while client._row < count:
            assert time.monotonic() < began + PATIENCE_S
            time.sleep(0.001)
        delays.append(time.monotonic() - began)
    client.close()
    assert min(delays) < 0.1  # the least one: other work on the machine makes some of them longer
