"""README and docs work as they stand: every block is run where a reader would, or says why not."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

from orchestrator.registry import Registry
from tests.docs import commands, tables
from tests.docs.pages import ROOT, Block, Page, all_pages, read
from tests.docs.room import furnish
from tests.docs.script import ACTIVATION, work_through

MOST_S = 840
"""Of a page: some twenty seconds, ten times that where the machine is shared by many."""
REAL = "real frames"


def named(path: Path) -> str:
    """A page by its place in the checkout."""
    return str(path.relative_to(ROOT))


PAGES = [pytest.param(path, id=named(path)) for path in all_pages()]
WITH_REAL_FRAMES = [
    pytest.param(path, id=named(path), marks=[pytest.mark.software, pytest.mark.slow])
    for path in all_pages()
    if f"<!-- {REAL} -->" in path.read_text("utf-8")
]


def can_run(block: Block) -> bool:
    """Whether a block may run here, and has what it says it needs."""
    need = block.markers.get("needs")
    return not block.skipped and (
        need is None or bool(shutil.which(need) or importlib.util.find_spec(need))
    )


def run_blocks(page: Page, blocks: list[Block], cache: Path, folder: Path) -> None:
    """Work through blocks of a page, if a shell has to be asked about any."""
    if any(block.language in ("sh", "python") for block in blocks):
        work_through(blocks, furnish(folder), cache, activates(page), MOST_S)


def activates(page: Page) -> bool:
    """Whether the page tells its reader to have the commands of .venv at hand."""
    return ACTIVATION in {code for _, code in page.inline}


@pytest.mark.slow
@pytest.mark.timeout(MOST_S + 60)
@pytest.mark.parametrize("path", PAGES)
def test_every_block_runs(path: Path, cache: Path, tmp_path: Path) -> None:
    page = read(path)
    blocks = [b for b in page.blocks if can_run(b) and REAL not in b.markers]
    run_blocks(page, blocks, cache, tmp_path)


@pytest.mark.timeout(MOST_S + 60)
@pytest.mark.parametrize("path", WITH_REAL_FRAMES)
def test_blocks_with_real_frames_run(path: Path, cache: Path, tmp_path: Path) -> None:
    refused = Registry.load().target("software").probe()
    if refused is not None:
        pytest.skip(str(refused))
    page = read(path)
    blocks = [b for b in page.blocks if can_run(b) and (REAL in b.markers or b.file)]
    run_blocks(page, blocks, cache, tmp_path)


@pytest.mark.parametrize("path", PAGES)
def test_every_table_is_what_it_is_for(path: Path, tmp_path: Path) -> None:
    page = read(path)
    for number, block in enumerate(page.blocks):
        if block.language == "toml":
            folder = tmp_path / str(number)
            folder.mkdir()
            tables.check(block, page, folder)


@pytest.mark.parametrize("path", PAGES)
def test_a_saved_file_is_used(path: Path) -> None:
    page = read(path)
    for number, block in enumerate(page.blocks):
        if block.file:
            name = Path(block.file).name
            later = [b.text for b in page.blocks[number + 1 :] if b.language == "sh"]
            folder = str(Path(block.file).parent)
            used = any(name in text or (folder != "." and folder in text) for text in later)
            into = {b.markers.get("goes into") for b in page.blocks}
            assert used or block.file in into or block.file.startswith("~/"), (
                f"{block.place}: {name}"
            )


@pytest.mark.parametrize("path", PAGES)
def test_every_command_could_start(path: Path) -> None:
    page = read(path)
    wrong = [
        f"{block.place}: {text}"
        for block in page.blocks
        for text in commands.mistakes(block.commands)
    ]
    wrong += [
        f"{place}: `{code}`: {text}"
        for place, code in page.inline
        if code.startswith("tailback ")
        if (text := commands.named(code))
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("path", PAGES)
def test_what_a_page_calls_is_at_hand(path: Path) -> None:
    """Without .venv's commands on the path a reader has no `tailback` to type."""
    page = read(path)
    typed = [words[0] for b in page.blocks for words in commands.simple_commands(b.commands)]
    typed += ["python" for block in page.blocks if block.language == "python" and not block.file]
    assert not {"tailback", "python", "pytest", "pip"} & set(typed) or activates(page)
