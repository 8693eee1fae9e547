"""Flows go back only from nodes that send: NICs."""

from __future__ import annotations

from typing import Any

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.registry import Registry
from tests.orchestrator.worlds import line_of_three

BULK = {"plugin": "bulk", "from": "nic", "to": "sink", "transport": {"plugin": "go-back-n"}}
CBR = {"plugin": "cbr", "from": "nic", "to": "sink", "rate": 10**8}


def checked(traffic: dict[str, Any], **changes: Any) -> None:
    Plan(**line_of_three(traffic={"gen": traffic}) | changes).check(Registry.load())


@pytest.mark.parametrize("traffic", [BULK, CBR, CBR | {"from": ["nic"], "to": ["sink"]}])
def test_a_sink_does_not_answer(traffic: dict[str, Any]) -> None:
    checked(traffic)
    with pytest.raises(BadInput, match=r"(?s)gen.bidirectional.*sink sends nothing; NICs"):
        checked(traffic | {"bidirectional": True})


def test_a_nic_does() -> None:
    nodes = {name: {"kind": "nic"} for name in ("nic", "sink")} | {"switch": {"kind": "switch"}}
    checked(CBR | {"bidirectional": True}, nodes=nodes)
