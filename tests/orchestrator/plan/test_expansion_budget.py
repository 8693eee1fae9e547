"""The budget: what would take gigabytes is a sentence, at once."""

from __future__ import annotations

import resource

import pytest

from orchestrator.errors import BadInput
from orchestrator.plan import Plan
from orchestrator.plan.expansion_budget import MOST_BASES
from orchestrator.plan.toml_text import MOST_SEGMENTS, check_keys
from orchestrator.plan.traffic_pairing import drawn
from tests.orchestrator.plan.bombs import BOMBS

MOST = 200_000
"""KB that the process may grow by while it refuses a bomb; expanded they take 1.3 GB and more."""


@pytest.mark.parametrize("text", BOMBS.values(), ids=BOMBS)
def test_a_bomb_is_refused_before_it_is_expanded(text: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(BadInput) as caught:
        Plan.load(text)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MOST
    assert len(str(caught.value)) < 10_000


def test_keys_are_counted_outside_of_texts_and_comments() -> None:
    dots = ".".join(["a"] * (MOST_SEGMENTS + 1))
    harmless = (
        f'# {dots}\nx = "{dots}"\ny = """\n{dots}\n"""\n{".".join(["a"] * MOST_SEGMENTS)} = 1\n'
    )
    check_keys("plan", harmless)
    with pytest.raises(BadInput, match="line 2"):
        check_keys("plan", f"x = 1\n{dots} = 1\n")


def test_bases_end(tmp_path) -> None:
    for at in range(MOST_BASES + 2):
        (tmp_path / f"p{at}.toml").write_text(f'base = "p{at + 1}"\n')
    with pytest.raises(BadInput, match=f"at most {MOST_BASES} bases"):
        Plan.load(tmp_path / "p0.toml")


def test_random_pairs_are_those_of_a_list_for_each_source() -> None:
    from random import Random

    for seed in range(300):
        rolls = Random(seed)
        sources = rolls.choices("abcdef", k=rolls.randint(1, 9))
        targets = rolls.choices("abcdef", k=rolls.randint(1, 9))
        random = Random(seed)
        others = {s: [t for t in targets if t != s] for s in sources}
        wanted = [(s, random.choice(others[s])) for s in sources if others[s]]
        assert drawn("random", sources, targets, seed) == wanted
