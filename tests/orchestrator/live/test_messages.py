"""Messages of the feed: what goes over the wire comes back, and nothing else is believed."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orchestrator.live import feed_codec, feed_messages


def test_samples_come_back_as_arrays() -> None:
    times = np.arange(4) * 10
    values = np.arange(8).reshape(4, 2) - 3
    sent = feed_messages.Samples(run="r", first=7, dropped=2, times_ps=times, values=values)
    got = feed_codec.decode_message(feed_codec.encode_message(sent))
    assert (got.first, got.dropped, got.run) == (7, 2, "r")
    assert got.times_ps.tolist() == times.tolist()
    assert got.values.tolist() == values.tolist()


@pytest.mark.parametrize(
    "request_",
    [
        feed_messages.Watch(run="r", from_row=3),
        feed_messages.SetValue(run="r", request="1", key="nodes.switch.service_rate", to="1Gb/s"),
        feed_messages.Act(run="r", request="2", verb="cut", of="up"),
        feed_messages.Pace(run="r", request="3", factor=0.5),
        feed_messages.Stop(run="r", request="4"),
        feed_messages.Abort(run="r", request="5"),
    ],
    ids=lambda request: request.kind,
)
def test_requests_come_back(request_: feed_messages.Request) -> None:
    assert feed_codec.decode_request(feed_codec.encode_message(request_)) == request_


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"version": 2}, "version"),
        ({"kind": "explode"}, "kind|tag"),
        ({"verb": "melt"}, "verb"),
        ({"more": 1}, "more"),
        ({"of": "x" * 201}, "of"),
    ],
)
def test_a_request_that_is_not_right_is_told_why(change: dict[str, object], told: str) -> None:
    fields = json.loads(feed_codec.encode_message(feed_messages.Act(verb="cut", of="up"))[0])
    with pytest.raises(feed_codec.MalformedMessage, match=told):
        feed_codec.decode_request([json.dumps(fields | change).encode()])


def test_arrays_that_do_not_fit_are_refused() -> None:
    good = feed_codec.encode_message(
        feed_messages.Samples(first=0, times_ps=np.arange(3), values=np.zeros((3, 2), np.int64))
    )
    for frames in (good[:2], [*good, b""], [good[0], good[1], good[2][:-8]], [good[0], b"", b""]):
        with pytest.raises(feed_codec.MalformedMessage):
            feed_codec.decode_message(frames)


@given(st.lists(st.binary(max_size=40), max_size=4))
def test_octets_of_any_kind_raise_nothing_else(frames: list[bytes]) -> None:
    for read in (feed_codec.decode_message, feed_codec.decode_request):
        with pytest.raises(feed_codec.MalformedMessage):
            read(frames)
