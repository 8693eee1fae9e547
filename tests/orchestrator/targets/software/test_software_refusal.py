"""Where the target cannot run, it says what is missing and what would help."""

from __future__ import annotations

import errno
import os
import sys

import pytest

from orchestrator.errors import Refused
from orchestrator.targets.software import namespace_probe as probing
from orchestrator.targets.software.isolation import Denied, isolate
from orchestrator.targets.software.kernel_refusals import SETTINGS, refusal
from tests.patience import PATIENCE_S


def denied(step: str, code: int) -> Denied:
    """A step that the kernel answered with an error."""
    return Denied(step, OSError(code, os.strerror(code)))


@pytest.mark.parametrize("name", SETTINGS)
def test_a_forbidding_setting_is_named_with_the_command_that_mends_it(tmp_path, name):
    forbidden, _, allowed = SETTINGS[name]
    (tmp_path / name).parent.mkdir()
    (tmp_path / name).write_text(f"{forbidden}\n")
    text = str(refusal(denied("user namespace", errno.EPERM), tmp_path))
    key = name.replace("/", ".")
    assert f"{key} = {forbidden}" in text
    assert f"sysctl -w {key}={allowed}" in text
    assert "simulated" in text


@pytest.mark.parametrize(
    ("step", "code", "expected"),
    [
        ("veth pair", errno.EOPNOTSUPP, "modprobe veth"),
        ("packet socket", errno.EAFNOSUPPORT, "modprobe af_packet"),
        ("user namespace", errno.EINVAL, "built without user namespaces"),
        ("user namespace", errno.ENOSPC, "end other sandboxes"),
        ("user namespace", errno.EPERM, "--cap-add SYS_ADMIN"),
        ("identity in the user namespace", errno.EROFS, "--cap-add"),
        ("network namespace", errno.ENOMEM, "run as root"),
    ],
)
def test_every_denied_step_has_a_remedy(tmp_path, step, code, expected):
    refused = refusal(denied(step, code), tmp_path)
    assert expected in str(refused)
    assert refused.who == "target software"
    assert "simulated" in refused.remedy


def test_another_system_is_refused_by_name(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    refused = probing.probe.__wrapped__()
    assert isinstance(refused, Refused)
    assert "Linux" in str(refused)
    assert "darwin" in str(refused)


def test_one_core_is_refused(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0}, raising=False)
    assert "two processor cores" in str(probing.probe.__wrapped__())


def test_a_process_with_threads_is_not_isolated(monkeypatch):
    monkeypatch.setattr(os, "listdir", lambda _: ["1", "2"])
    with pytest.raises(RuntimeError, match="2 threads"):
        isolate()


@pytest.mark.usefixtures("namespaces")
def test_a_machine_without_user_namespaces_refuses_an_ordinary_user(tmp_path):
    """In a user namespace of its own, the limit can be set to 0 without touching the machine."""
    import subprocess

    script = (
        "import ctypes, os\n"
        "from orchestrator.targets.software.isolation import isolate\n"
        "isolate()\n"
        "open('/proc/sys/user/max_user_namespaces', 'w').write('0')\n"
        "open('/proc/sys/user/max_net_namespaces', 'w').write('0')\n"
        "from orchestrator.targets.software.namespace_probe import probe\n"
        "print(probe())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE_S
    )
    assert done.stderr == ""
    assert "user.max_user_namespaces = 0" in done.stdout
    assert "sysctl -w user.max_user_namespaces=15000" in done.stdout
