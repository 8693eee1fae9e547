"""The blocks of a page, in order, each with what the page says of it.

What a reader sees tells what to do with a block: a block of TOML, Python or Verilog whose sentence
before it ends by naming a file (`mine.toml`:) is saved under that name; a block of `text` is what
the shell block before it prints. A comment before a block says what a reader need not see:

<!-- not run: REASON -->        it cannot run in a test; it is checked as far as possible
<!-- real frames -->            it runs with the tests marked `software`
<!-- needs: PROGRAM -->         it runs where there is such a command or Python module
<!-- goes into FILE -->         lines of a plan, to be added to what the page has saved
                                as FILE, or to the shipped plan of that name
<!-- ends with CODE -->         its last command has this exit code, all others 0
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
LANGUAGES = ("sh", "toml", "python", "verilog", "text")
"""What is run, or (text) compared; `console`, a transcript, may stand in what is not run."""
MARKERS = ("not run", "real frames", "needs", "goes into", "ends with")
ENDINGS = {"toml": ".toml", "python": ".py", "verilog": ".v"}
FILE = re.compile(r"`([~\w./-]+\.(?:toml|py|v))`[^`]*:$")
INLINE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Block:
    """One fenced block. `place` is page:line; `file` the name under which a reader saves it."""

    place: str
    language: str
    text: str
    file: str = ""
    markers: dict[str, str] = field(default_factory=dict)

    @property
    def skipped(self) -> bool:
        """Whether no test runs it."""
        return "not run" in self.markers

    @property
    def commands(self) -> str:
        """The lines of it that are typed in a shell."""
        if self.language == "console":
            return "\n".join(re.findall(r"^\$ (.*)", self.text, re.MULTILINE))
        return self.text if self.language == "sh" else ""


@dataclass(frozen=True)
class Page:
    """A page of Markdown: its blocks, and what else it says in code."""

    path: Path
    blocks: tuple[Block, ...]
    inline: tuple[tuple[str, str], ...]
    """Every `code` in the text, with its place."""

    @property
    def saved(self) -> dict[str, str]:
        """The files that a reader has after working through it."""
        return {block.file: block.text for block in self.blocks if block.file}


def all_pages() -> list[Path]:
    """README, and every page of docs."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def markers_of(comment: str, place: str) -> dict[str, str]:
    """What a comment before a block says. Raises ValueError when it says what nobody reads."""
    found: dict[str, str] = {}
    for said in re.findall(r"<!--\s*(.*?)\s*-->", comment, re.DOTALL):
        name = next((m for m in MARKERS if said.startswith(m)), None)
        value = said.removeprefix(name or "").lstrip(": ")
        if name is None or (name != "real frames" and not value):
            raise ValueError(f"{place}: <!-- {said} --> is none of {', '.join(MARKERS)}")
        found[name] = value
    return found


def saved_as(lead: str, language: str) -> str:
    """The file that the sentence before a block names as the one that it is."""
    named = FILE.search(lead)
    return named[1] if named and ENDINGS.get(language) == Path(named[1]).suffix else ""


def read(path: Path) -> Page:
    """Take a page apart. Raises ValueError at a block of a language that nobody runs."""
    name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path.name
    blocks: list[Block] = []
    inline: list[tuple[str, str]] = []
    lead, comment = "", ""
    for token in MarkdownIt("commonmark").enable("table").parse(path.read_text("utf-8")):
        place = f"{name}:{token.map[0] + 1}" if token.map else str(name)
        if token.type == "inline":
            inline += [(place, code) for code in INLINE.findall(token.content)]
            lead = " ".join(token.content.split())
        elif token.type == "html_block":
            comment += token.content
        elif token.type == "fence":
            markers = markers_of(comment, place)
            language = token.info.strip()
            if language not in LANGUAGES and "not run" not in markers:
                raise ValueError(f"{place}: language {language!r} is none of {LANGUAGES}")
            file = "" if "goes into" in markers else saved_as(lead, language)
            blocks.append(Block(place, language, token.content, file, markers))
        if token.type in ("fence", "inline"):
            comment = ""
        if token.type == "fence":
            lead = ""
    return Page(path, tuple(blocks), tuple(inline))
