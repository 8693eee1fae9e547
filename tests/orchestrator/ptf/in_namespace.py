"""A process in namespaces of its own: `tailback run ptf-switch` and PTF at the other ends of its
four cables. Its words are settings of the plan (`KEY=VALUE`) and names of tests, by default all; it
prints what PTF said of each, as JSON."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from pyroute2 import IPRoute

from orchestrator import python_command
from orchestrator.targets.software.isolation import isolate

PORTS = (1, 2, 3, 4)
TESTS = Path(__file__).parent / "reference"
SEEN = {"ok": "passed", "FAIL": "failed", "ERROR": "failed"}


def cables() -> None:
    """A veth pair for each port, without IPv6: nothing speaks on them but PTF and the switch."""
    for name in ("all", "default"):
        with suppress(FileNotFoundError):
            Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6").write_text("1")
    with IPRoute() as netlink:
        for port in PORTS:
            netlink.link("add", kind="veth", ifname=f"sw{port}", peer=f"tester{port}")
            for name in (f"sw{port}", f"tester{port}"):
                netlink.link("set", index=netlink.link_lookup(ifname=name)[0], state="up")


def ptf(folder: str, tests: list[str]) -> dict[str, str]:
    """Test -> passed, failed, or what PTF said instead."""
    line = [sys.executable, str(Path(sys.executable).with_name("ptf")), "--test-dir", str(TESTS)]
    for port in PORTS:
        line += ["--interface", f"{port}@tester{port}"]
    line += [f"reference_switch.{name}" for name in tests]
    done = subprocess.run(line, capture_output=True, text=True, cwd=folder, check=False)
    found = {}
    for said in (done.stdout + done.stderr).splitlines():
        name, dots, outcome = said.partition(" ... ")
        if dots and name.startswith("reference_switch."):
            found[name.removeprefix("reference_switch.")] = SEEN.get(outcome, outcome)
    assert found, done.stdout + done.stderr
    return found


def main(words: list[str]) -> None:
    isolate()
    cables()
    with tempfile.TemporaryDirectory() as folder:
        line = python_command.module(
            "orchestrator.cli.__main__", "run", "ptf-switch", "--out", folder
        )
        for word in words:
            line += ["--set", word] if "=" in word else []
        for port in PORTS:
            line += ["--external", f"p{port}.sw=sw{port}"]
        switch = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        assert switch.stdout is not None
        said = []
        for line_ in switch.stdout:
            said.append(line_)
            if line_.startswith("running"):
                break
        else:
            raise AssertionError("".join(said))
        try:
            print(json.dumps(ptf(folder, [word for word in words if "=" not in word])))
        finally:
            switch.terminate()
            switch.communicate()


if __name__ == "__main__":
    main(sys.argv[1:])
