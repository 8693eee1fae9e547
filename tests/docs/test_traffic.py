"""docs/traffic.md leaves no source out."""

from __future__ import annotations

import re

from orchestrator.package_shadowing import DISTRIBUTION
from orchestrator.registry import Registry
from tests.docs.pages import ROOT, read


def test_every_source_and_transport_that_is_shipped_has_an_example() -> None:
    mine = {
        a.name
        for a in Registry.load().algorithms
        if a.kind in ("traffic", "transport") and a.origin.startswith(f"{DISTRIBUTION} ")
    }
    examples = [block.text for block in read(ROOT / "docs" / "traffic.md").blocks]
    shown = set(re.findall(r'plugin = "([a-z-]+)"', "".join(examples)))
    assert mine <= shown | {"trace", "flows"}  # these need a file, and have pages of their own
