"""A page that does not work as it stands is found, whatever is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from tests.docs import commands, tables
from tests.docs.pages import Page, read
from tests.docs.room import furnish
from tests.docs.script import work_through

PLAN = """name = "p"
duration = "1ms"

[nodes.a]
kind = "nic"

[nodes.b]
kind = "sink"

[links.l]
ends = ["a", "b"]
rate = "1Gb/s"
"""

Write = Callable[[str], Page]


@pytest.fixture
def page(tmp_path: Path) -> Write:
    """Makes a page of a text."""

    def write(text: str) -> Page:
        path = tmp_path / "page.md"
        path.write_text(text, "utf-8")
        return read(path)

    return write


@pytest.fixture
def worked(page: Write, cache: Path, tmp_path: Path) -> Callable[..., None]:
    """Works through a page of a text."""

    def work(text: str, activated: bool = False) -> None:
        work_through(page(text).blocks, furnish(tmp_path), cache, activated, 60)

    return work


@pytest.mark.parametrize("language", ["", "bash", "json"])
def test_a_block_that_nobody_runs_is_an_error(page: Write, language: str) -> None:
    with pytest.raises(ValueError, match=r"page.md:1: language"):
        page(f"```{language}\nls\n```\n")


def test_a_comment_that_nobody_reads_is_an_error(page: Write) -> None:
    with pytest.raises(ValueError, match="not-run: x"):
        page("<!-- not-run: x -->\n```sh\nls\n```\n")
    with pytest.raises(ValueError, match="not run"):
        page("<!-- not run -->\n```sh\nls\n```\n")


def test_blocks_in_lists_and_their_comments_are_found(page: Write) -> None:
    found = page(f"1. It is `p.toml`:\n\n   ```toml\n   {PLAN.splitlines()[0]}\n   ```\n").blocks
    assert [(b.file, b.text) for b in found] == [("p.toml", 'name = "p"\n')]
    (block,) = page("- Some.\n\n  <!-- not run: why -->\n  ```sh\n  ls\n  ```\n").blocks
    assert block.markers == {"not run": "why"}


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("tailback rum quickstart", "rum"),
        ("tailback run quickstart --speed 3", "--speed"),
        ("tailback run", "PLAN"),
        ("tailback run quickstart --jobs many", "many"),
        ("tailback keys knock lab.pub", "knock"),
        ("for a in 1 2; do tailback report; done", "RUN"),
        ("X=$(tailback plain quickstart)", "plain"),
        ("ls | frobnicate --all", "frobnicate"),
        ("make tea", "tea"),
        ("python -m tests.trials.nobody", "nobody"),
    ],
)
def test_a_command_that_could_not_start_is_found(line: str, wrong: str) -> None:
    (text,) = commands.mistakes(line)
    assert wrong in text


@pytest.mark.parametrize(
    "code", ["tailback rum PLAN", "tailback run PLAN --speed", "tailback keys x"]
)
def test_a_command_that_does_not_exist_is_found_in_text(code: str) -> None:
    assert commands.named(code)


@pytest.mark.parametrize("code", ["tailback run --no-live", "tailback gateware …", "tailback keys"])
def test_what_leaves_out_arguments_is_no_mistake(code: str) -> None:
    assert commands.named(code) is None


@pytest.mark.parametrize(
    "text",
    [
        "<!-- not run: x -->\n```toml\nname = 3\n```\n",
        f"It is `p.toml`:\n```toml\n{PLAN}```\n<!-- goes into p.toml -->\n```toml\n[traffic.t]\n"
        'plugin = "cbr"\nfrom = "a"\nto = "c"\nrate = "1Mb/s"\n```\n',
        '`pyproject.toml`:\n```toml\n[project]\nname = "x"\n[project.entry-points.tailback]\n```\n',
        '```toml\n[machines.left]\naddress = "tcp://10.0.0.1:7010"\nkey = "short"\n```\n',
        '`~/.config/tailback/keys.toml`:\n```toml\n"run.fly" = "f"\n```\n',
    ],
)
def test_a_table_that_is_not_what_it_is_for_is_found(
    page: Write, tmp_path: Path, text: str
) -> None:
    made = page(text)
    with pytest.raises((BadInput, AssertionError)):
        tables.check(made.blocks[-1], made, tmp_path)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("```sh\ntrue\nfalse | true\n```\n", "page.md:1 ended with 1"),
        ("```sh\nX=1\n```\n```sh\n[ $X = 2 ]\n```\n", "page.md:4 ended with 1"),
        ("```sh\ntailback --version\n```\n", "command not found"),
        ("<!-- ends with 3 -->\n```sh\n(exit 2)\n```\n", "ended with 99"),
        ("```sh\necho 12 a\n```\n```text\n1… b\n```\n", "was not printed"),
        ("```sh\necho b; echo a\n```\n```text\na\nb\n```\n", "was not printed"),
    ],
)
def test_a_block_that_fails_fails(worked: Callable[..., None], text: str, wrong: str) -> None:
    with pytest.raises(AssertionError) as error:
        worked(text)
    assert wrong in str(error.value)


def test_a_page_has_one_shell_its_files_and_a_new_home(worked: Callable[..., None]) -> None:
    worked(
        "`a/x.py`:\n```python\nprint(6 * 7)\n```\n"
        "```sh\ncd a; X=x.py\ntailback --version\n```\n"
        "```sh\npython $X; ls -A ~ | wc -l\n```\n```text\n42\n1\n```\n",
        activated=True,
    )


def test_python_of_a_page_is_one_session(worked: Callable[..., None]) -> None:
    worked("```python\nx = 6\n```\n```python\nassert x == 6\n```\n", activated=True)
