"""The text table keeps its cursor on a row that is there, however it is filled again."""

from __future__ import annotations

import asyncio
import random

import pytest
from textual.app import App, ComposeResult

from orchestrator.console.text_table import Table


class OneTable(App[None]):
    """A table and nothing else; it keeps the keys that the cursor reached."""

    def __init__(self) -> None:
        super().__init__()
        self.reached: list[str] = []

    def compose(self) -> ComposeResult:
        yield Table()

    def on_table_reached(self, event: Table.Reached) -> None:
        self.reached.append(event.key)


@pytest.mark.parametrize("seed", range(8))
def test_the_cursor_stands_on_a_row_that_is_there(seed: int) -> None:
    """Rows come, go and change places, as when words are typed into a filter."""

    async def go(draw: random.Random, app: OneTable) -> None:
        async with app.run_test() as pilot:
            table = app.query_one(Table)
            for _ in range(30):
                before = table.chosen
                keys = [str(n) for n in draw.sample(range(12), draw.randint(0, 12))]
                table.fill(("key",), [(key, (key,)) for key in keys])
                await pilot.pause()
                assert table.chosen == before or before not in keys
                assert (table.chosen in keys) if keys else (table.chosen is None)
                assert not keys or table.chosen == before or app.reached[-1] == table.chosen
                table.move_cursor(draw.randrange(12))

    asyncio.run(go(random.Random(seed), OneTable()))
