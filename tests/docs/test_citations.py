"""Every citation in the tree leads somewhere: links, anchors, files, names, papers, standards.

Read are all sources, plans, tests and pages. `problems_of` finds what leads nowhere in a text; the
second half of this file shows it one wrong citation of each kind.
"""

from __future__ import annotations

import ast
import itertools
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOPS = ("docs", "orchestrator", "plugins", "firmware", "traffic", "traces", "tests")
ALONE = ("README.md", "CHANGELOG.md", "Makefile", "pyproject.toml")
SUFFIXES = {".py", ".v", ".md", ".toml", ".cpp", ".tcl", ".mk", ".yml"}
DRAWN = "corpus"
"""Plans that were drawn by chance: what they call themselves names nothing."""
FILES = [ROOT / name for name in ALONE] + [
    path
    for top in TOPS
    for path in sorted((ROOT / top).rglob("*"))
    if path.suffix in SUFFIXES and path != Path(__file__) and DRAWN not in path.parts
]
REFERENCES = "docs/references.md"

KINDS = {"section": "Sections", "figure": "Figures", "table": "Tables", "equation": "Equations"}
ROMAN = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
ITEM = r"(?:L?\d+(?:\.\d+)*[a-d]?|[IVX]+(?:\.[A-Z])?)(?![\w.]*\w)"
ITEMS = rf"{ITEM}(?:(?:, | and | to |-|, and ){ITEM})*"
PART = re.compile(rf"\b([Ss]ection|[Ff]igure|[Tt]able|[Ee]quation)s? ({ITEMS})")
NUMBER = r"(L?(?:\d+\.)*)(\d+)([a-d]?)"
PART_OF_AN_RFC = re.compile(r"\bRFC \d+(?:'s)?[,:]? \(?$")
"""Text before a section of an RFC: no paper of the tree has to have that section."""
LINES = re.compile(r"\bL\d+(?:-L\d+)?\b")
DOTTED = re.compile(rf"(?<![\w./\[\"'])(?:{'|'.join(TOPS[1:])})(?:\.(?!md\b|py\b)[A-Za-z_]\w*)+")
PATHS = re.compile(rf"(?<![\w./-])(?:{'|'.join(TOPS)})/[\w./*-]*\w(?:#[\w-]+)?(?: `\w+`)?")
LINKS = re.compile(r"\]\(([^)\s]+)\)")
RFC = re.compile(r"\bRFC (\d+(?:(?:, | and )\d+(?!\.?\d))*)")
STANDARD = re.compile(r"\b802\.\d+[A-Za-z]*(?: annex(?: [A-Z\d]+(?:\.\d+)*)?)?")
GONE = re.compile(r"\b[Pp]aper 00\d|\bspec/\w+\.md|\b00[0-4],? (?:section|figure|L\d|[Tt]able)")


@cache
def read(name: str) -> str:
    return (ROOT / name).read_text("utf-8")


def without_programs(page: str) -> str:
    return re.sub(r"^```.*?^```", "", page, flags=re.S | re.M)


@cache
def anchors(name: str) -> frozenset[str]:
    """What the headings of a page are called in links."""
    heads = re.findall(
        r"^#+ (.+)$", re.sub(r"^```.*?^```", "", read(name), flags=re.S | re.M), re.M
    )
    plain = (re.sub(r"\]\([^)]*\)|[^\w\s-]", "", head.strip().lower()) for head in heads)
    return frozenset(head.replace(" ", "-") for head in plain)


@cache
def names_of(name: str) -> frozenset[str]:
    """Everything that a module's body, or a class in it, binds."""
    found: set[str] = set()
    rest: list[ast.AST] = [ast.parse(read(name))]
    while rest:
        node = rest.pop()
        if isinstance(node, ast.Module | ast.ClassDef | ast.If | ast.Try | ast.With):
            rest += ast.iter_child_nodes(node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found.update(alias.asname or alias.name for alias in node.names)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            found.update(part.id for part in ast.walk(node) if isinstance(part, ast.Name))
    return frozenset(found)


@cache
def papers() -> dict[str, dict[str, frozenset[str]]]:
    """The papers, and the places that each has, by kind."""
    chapter = read(REFERENCES).split("\n## ")[1]
    found = {}
    for entry in chapter.split("\n### ")[1:]:
        name, _, text = entry.partition("\n")
        rows = re.findall(r"^- (\w+): ((?:.+\n)(?:  .+\n)*)", text, re.M)
        found[name] = {kind: frozenset(places(" ".join(row.split()))) for kind, row in rows}
    return found


@cache
def standards() -> dict[str, str]:
    """Standards and RFCs, and the parts that are cited of each."""
    rows = re.findall(r"^\| ([^|]+) \|[^|]+\|(?: ([^|]*) ?\|)?$", read(REFERENCES), re.M)
    return dict(rows)


def places(items: str) -> Iterator[str]:
    """`1 to 3, 2a to 2c, I to III, L1-L4` one by one."""
    for item in re.split(r", and |, | and ", items):
        first, _, last = re.sub("-| to ", "~", item).partition("~")
        if not last:
            yield first
        elif first in ROMAN and last in ROMAN:
            yield from ROMAN[ROMAN.index(first) : ROMAN.index(last) + 1]
        else:
            head, low, a = re.fullmatch(NUMBER, first).groups()  # type: ignore[union-attr]
            _, high, b = re.fullmatch(NUMBER, last).groups()  # type: ignore[union-attr]
            letters = [chr(code) for code in range(ord(a), ord(b) + 1)] if a and b else [""]
            for number, letter in itertools.product(range(int(low), int(high) + 1), letters):
                yield f"{head}{number}{letter}"


def flat(text: str) -> str:
    """The text without line ends, comment signs and the targets of links."""
    return re.sub(r"\s*\n\s*(?:#|//|\*)?\s*", " ", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text))


def wrong_papers(text: str) -> Iterator[str]:
    """Parts behind a paper's name that it lacks; parts alone that no paper of the text has."""
    pieces = re.split(rf"\b({'|'.join(map(re.escape, papers()))})(?=[,;:)\s'`*.])", flat(text))
    named = set(pieces[1::2]) or set(papers())
    for name, rest in zip([None, *pieces[1::2]], pieces[::2], strict=True):
        parts = [(m, KINDS[m[1].lower()], m[2]) for m in PART.finditer(rest)]
        if "QCN 2.2" in named and len(named) < len(papers()):
            parts += [(m, "Lines", m[0]) for m in LINES.finditer(rest)]
        for match, kind, items in parts:
            if PART_OF_AN_RFC.search(rest[: match.start()]):
                continue
            near = name is not None and re.fullmatch(r"(?:'s)?[,:]? \(?", rest[: match.start()])
            asked = {name} if near else named
            for place in places(items):
                if not any(place in papers()[one].get(kind, ()) for one in asked if one):
                    yield f"{' or '.join(sorted(map(str, asked)))} has no {match[0]}"


def wrong_standards(text: str) -> Iterator[str]:
    text = flat(text)
    for match in RFC.finditer(text):
        for number in re.findall(r"\d+", match[1]):
            known = f"RFC {number}" in standards() or text[: match.start()].endswith("ZeroMQ ")
            if not known:
                yield f"RFC {number} is not in {REFERENCES}"
    for match in STANDARD.finditer(text):
        name, _, annex = match[0].partition(" ")
        if name != "802.1" and (name not in standards() or annex not in standards()[name]):
            yield f"{match[0]} is not in {REFERENCES}"


@cache
def sources_of_plans() -> frozenset[str]:
    """The traffic entries of shipped plans, and of those of the hunt's corpus."""
    folders = (ROOT / "plugins" / "plans", ROOT / "tests" / "orchestrator" / "hunt" / "corpus")
    files = [path for folder in folders for path in folder.rglob("*.toml")]
    tables = [tomllib.loads(path.read_text("utf-8")) for path in files]
    return frozenset(f"traffic.{name}" for table in tables for name in table.get("traffic", {}))


def wrong_names(text: str) -> Iterator[str]:
    """Dotted names of modules and what is in them, as prose has them."""
    for match in DOTTED.finditer(text):
        if match[0] in sources_of_plans():  # as the keys of a plan are written
            continue
        parts = match[0].split(".")
        at = next(n for n in range(len(parts), 0, -1) if module_of(parts[:n]))
        module, rest = str(module_of(parts[:at])), parts[at:]
        known = names_of(module) if module.endswith(".py") else frozenset[str]()
        if not all(part in known for part in rest):
            yield f"{match[0]}: there is no {'.'.join(parts[: at + 1])}"


def module_of(parts: list[str]) -> str | None:
    """Its file; its folder where it is one without a body."""
    base = "/".join(parts)
    return next(
        (n for n in (f"{base}.py", f"{base}/__init__.py", base) if (ROOT / n).exists()), None
    )


def prose_of(text: str, path: Path) -> str:
    """What readers are told: a Python file's comments and docstrings, a page less its programs."""
    if path.suffix == ".md":
        return flat(without_programs(text))
    if path.suffix != ".py":
        return text
    docs = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Expr))
    said = [d.value for d in docs if isinstance(d, ast.Constant) and isinstance(d.value, str)]
    return "\n".join(said + re.findall(r"(?:^|\s)# (.+)$", text, re.M))


def wrong_paths(text: str) -> Iterator[str]:
    """Files of the tree, their headings (`#...`) and what a module has (a name in backticks)."""
    text = re.sub(r"\s*\n\s*(?:#|//)?\s*", " ", text)
    for name, path in re.findall(r"`(\w+)` of ([\w/]+\.py)", text):
        if (ROOT / path).exists() and name not in names_of(path):
            yield f"{path} has no {name}"
    for match in PATHS.finditer(text):
        path, _, name = match[0].partition(" ")
        path, _, anchor = path.partition("#")
        if not any(ROOT.glob(path)):
            yield f"{path}: there is no such file"
        elif anchor and anchor not in anchors(path):
            yield f"{path} has no #{anchor}"
        elif name and path.endswith(".py") and name.strip("`") not in names_of(path):
            yield f"{path} has no {name}"


def wrong_links(text: str, folder: Path) -> Iterator[str]:
    for target in LINKS.findall(text):
        place, _, anchor = target.partition("#")
        page = (folder / place).resolve() if place else None
        if ":" in target or page is None:
            continue
        if not page.exists():
            yield f"{target}: there is no such page"
        elif anchor and anchor not in anchors(str(page.relative_to(ROOT))):
            yield f"{target}: the page has no such heading"


def problems_of(text: str, path: Path) -> list[str]:
    """Everything in a text that leads nowhere."""
    found = [*wrong_papers(text), *wrong_standards(text), *wrong_paths(text)]
    found += [f"{match[0]}: a name that no reader knows" for match in GONE.finditer(text)]
    if path.suffix == ".md":
        found += wrong_links(text, path.parent)
    return found + list(wrong_names(prose_of(text, path)))


@pytest.mark.parametrize("top", [*TOPS, *ALONE])
def test_every_citation_leads_somewhere(top: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {problem}"
        for path in FILES
        if path.relative_to(ROOT).parts[0] == top
        for problem in problems_of(path.read_text("utf-8"), path)
    ]
    assert found == []


@pytest.mark.parametrize(
    "citation",
    [
        "NetFPGA-QCN, figure 14",
        "NetFPGA-QCN, sections 3.2 and 3.3",
        "IBM input-buffered QCN,\n# section X",
        "(FECN, section IV: table III)",
        "P4QCN, equations 2 to 5",
        "QCN 2.2, L200-L209",
        "QCN 2.2 has it, unlike the MIB (L209)",
        "FECN has more; equation 8 there",
        "a figure of nobody, figure 99",
        "paper 002",
        "spec/frames.md",
        "000, section 4",
        "RFC 5682",
        "RFC 5681, 6676",
        "P4QCN, sections 3.2.1 to 3.2.4",
        "RFC 5681 has it; section 99 there",
        "802.1Qcz",
        "802.3 annex 31C",
        "docs/nothing.md",
        "docs/references.md#nothing",
        "// docs/settled/frames.md#nothing",
        "plugins/nothing.py",
        "`tests/nothing`",
        "plugins/qcn_cp.py `_sample`",
        "`nothing` of plugins/qcn_cp.py",
        "`plugins.qcn_cp.Nothing`",
        "orchestrator.nothing.at_all",
        "[link](nothing.md)",
        "[link](schemes.md#nothing)",
    ],
)
def test_a_citation_that_leads_nowhere_is_found(citation: str) -> None:
    assert problems_of(f"It is said ({citation}) there.\n", ROOT / "docs" / "page.md")


def test_all_kinds_of_citations_are_read() -> None:
    """A pattern that no longer matches anything would find no fault either."""
    texts = {path: path.read_text("utf-8") for path in FILES}
    for pattern in (PART, LINES, DOTTED, PATHS, LINKS, RFC, STANDARD):
        assert sum(len(pattern.findall(text)) for text in texts.values()) >= 30
    assert all(papers()[name] for name in ("NetFPGA-QCN", "QCN 2.2", "FECN", "P4QCN"))
