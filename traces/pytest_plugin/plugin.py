"""pytest plugin: options, fixtures, the marker `needs`, the table of figures.

pytest loads it wherever tailback is installed (see `entry_point`); a session that uses none of its
fixtures pays for this file alone. It is then not a part of the package `traces`, a word that may
mean a file of the user's: what is imported here before a test asks for a fixture is relative.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .capabilities import (
    CAPABILITIES,
    CARD,
    DEVICE,
    GATEWARE,
    SIMULATED,
    SOFTWARE,
    TARGETS,
)
from .figures import PROPERTY, Figure

if TYPE_CHECKING:
    from traces.pytest_plugin.decoded_frames import Frames
    from traces.pytest_plugin.run_outcome import Node
    from traces.pytest_plugin.target_runner import Lab


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options, and `tailback_targets` of the ini file."""
    group = parser.getgroup("tailback", "tailback: hardware in the loop")
    group.addoption(
        "--tailback-target",
        action="append",
        metavar="TARGET",
        help=f"where plans run: {', '.join(TARGETS)}; a comma list, or given again; each test "
        "runs once for each (default: tailback_targets of the ini file, else simulated)",
    )
    group.addoption(
        "--tailback-testbed",
        type=Path,
        metavar="FILE",
        help="testbed.toml: machines and cables for the target software, cards for gateware",
    )
    group.addoption(
        "--tailback-device",
        type=Path,
        metavar="FILE",
        help="dut.toml: a device of others that the target software tests, its cables and what it "
        "is said to do; only tests that need a device run then",
    )
    group.addoption(
        "--tailback-figures",
        type=Path,
        metavar="FILE",
        help="write the figures of all targets to a .json, .md or .html file",
    )
    parser.addini("tailback_targets", "default of --tailback-target", "args", [SIMULATED])


def targets(config: pytest.Config) -> list[str]:
    """The requested targets. Raises UsageError for an unknown one."""
    given = config.getoption("tailback_target")
    words = ",".join(given).split(",") if given else config.getini("tailback_targets")
    for word in words:
        if word not in TARGETS:
            raise pytest.UsageError(
                f"--tailback-target: {word!r} is not accepted; known: {', '.join(TARGETS)}"
            )
    return list(dict.fromkeys(words))


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; refuse arguments that are no good before anything runs."""
    config.addinivalue_line(
        "markers", f"needs(*capabilities): of the testbed; known: {', '.join(CAPABILITIES)}"
    )
    targets(config)
    out: Path | None = config.getoption("tailback_figures")
    if out is not None:
        from .table import FORMATS

        if out.suffix not in FORMATS:
            raise pytest.UsageError(
                f"--tailback-figures: {out} is not accepted; its name ends with "
                f"{', '.join(FORMATS)}"
            )
    bed: Path | None = config.getoption("tailback_testbed")
    if bed is not None:
        _check_testbed(bed)
    device: Path | None = config.getoption("tailback_device")
    if device is not None:
        _check_device(device, bed, targets(config))


def _check_testbed(path: Path) -> None:
    """Raises UsageError with every mistake in a testbed's file."""
    from orchestrator.errors import BadInput
    from orchestrator.testbed.inventory import Testbed

    try:
        Testbed.load(path)
    except BadInput as error:
        raise pytest.UsageError(f"--tailback-testbed: {error}") from None


def _check_device(path: Path, bed: Path | None, wanted: list[str]) -> None:
    """Raises UsageError with every mistake in a device's file, and for what does not go with it."""
    from orchestrator.errors import BadInput
    from traces.pytest_plugin.dut_description import Device

    if bed is not None or wanted != [SOFTWARE]:
        raise pytest.UsageError(
            f"--tailback-device: {path} goes with --tailback-target {SOFTWARE} alone, and with no "
            "--tailback-testbed"
        )
    try:
        Device.read(path)
    except BadInput as error:
        raise pytest.UsageError(f"--tailback-device: {error}") from None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test of the testbed runs once for each target."""
    if "tailback_target" in metafunc.fixturenames:
        words = targets(metafunc.config)
        metafunc.parametrize("tailback_target", words, indirect=True, scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse markers that name no capability: a slip must not turn into a skipped test."""
    for item in items:
        for mark in item.iter_markers("needs"):
            for name in mark.args:
                if name not in CAPABILITIES:
                    raise pytest.UsageError(
                        f"{item.nodeid}: needs({name!r}) is not accepted; "
                        f"known: {', '.join(CAPABILITIES)}"
                    )


def _refuse_hidden_packages() -> None:
    """Fail the test with a sentence when a file of the user's hides a package of tailback's."""
    try:
        from orchestrator.errors import Refused
        from orchestrator.package_shadowing import refuse_foreign_packages
    except ImportError as error:
        pytest.fail(f"tailback: its own package 'orchestrator' is hidden: {error}", pytrace=False)
    try:
        refuse_foreign_packages()
    except Refused as refusal:
        pytest.fail(str(refusal), pytrace=False)


@pytest.fixture(scope="session")
def _labs(pytestconfig: pytest.Config) -> Iterator[Callable[[str], Lab]]:
    """The lab of each target, made on first use and kept for the session."""
    _refuse_hidden_packages()
    from traces.pytest_plugin.dut_description import Device
    from traces.pytest_plugin.target_runner import Lab
    from traces.pytest_plugin.testbed_session import testbed_session

    tested: Path | None = pytestconfig.getoption("tailback_device")
    bed: Path | None = pytestconfig.getoption("tailback_testbed")
    found: dict[str, Lab] = {}
    with contextlib.ExitStack() as stack:

        def lab(target: str) -> Lab:
            if target not in found:
                from orchestrator.testbed.inventory import Testbed

                named = None if bed is None else Testbed.load(bed)
                joined = cards = None
                if bed is not None and named is not None:
                    if target == SOFTWARE and named.machines:
                        joined = stack.enter_context(testbed_session(bed))
                    elif target == GATEWARE and named.cards:
                        cards = named
                device = None if tested is None else Device.read(tested)
                found[target] = Lab(target, joined, cards, device)
            return found[target]

        yield lab


@pytest.fixture(scope="session")
def tailback_target(request: pytest.FixtureRequest) -> str:
    """The current target, one of those of --tailback-target."""
    word: str = request.param
    return word


@pytest.fixture
def testbed(
    request: pytest.FixtureRequest, tailback_target: str, _labs: Callable[[str], Lab]
) -> Lab:
    """The testbed on the current target; a test whose needs it does not meet is skipped."""
    lab = _labs(tailback_target)
    for mark in request.node.iter_markers("needs"):
        for name in mark.args:
            if (text := lab.lacks(name)) is not None:
                pytest.skip(text)
    if (text := lab.unusable()) is not None:
        pytest.skip(text)
    return lab


@pytest.fixture
def node(testbed: Lab) -> Callable[[str], Node]:
    """`node("switch")`: what was sampled and measured of a node in the run made last."""
    from traces.pytest_plugin.run_outcome import Node

    return lambda name: Node(name, testbed.last)


@pytest.fixture
def capture(testbed: Lab) -> Callable[[str], Frames]:
    """`capture("switch.nic")`: the frames that a port saw in the run made last."""
    return lambda port: testbed.last.capture(port)


@pytest.fixture
def figure(request: pytest.FixtureRequest, testbed: Lab) -> Callable[..., None]:
    """Holds what was seen to a rule, and keeps it for the table of all targets.

    `figure(name, rule=..., expected=..., seen=..., tolerance=..., unit=..., why=...)`: `rule` is
    the clause or paper, `why` is where the tolerance comes from.
    """

    def hold(name: str, **values: Any) -> None:
        measured = Figure(name=name, target=testbed.column, **values)
        request.node.user_properties.append((PROPERTY, measured.table()))
        assert measured.within_tolerance, str(measured)

    return hold


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The table; reports come with their figures from other processes too."""
    from .table import text, write

    found: list[Figure] = []
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", None) == "call":
                found += [
                    Figure.of(table) for name, table in report.user_properties if name == PROPERTY
                ]
    if found:
        order = {target: place for place, target in enumerate((*TARGETS, CARD, DEVICE))}
        found.sort(key=lambda one: (one.name, order[one.target]))
        terminalreporter.section("tailback figures")
        for line in text(found):
            terminalreporter.write_line(line)
    out: Path | None = config.getoption("tailback_figures")
    if out is not None:
        write(out, found)
        terminalreporter.write_line(f"figures: {out}")
