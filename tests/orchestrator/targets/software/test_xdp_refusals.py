"""What is said where there is no AF_XDP: the reason the kernel gives, and what would do."""

from __future__ import annotations

import errno
import os
import platform
from collections.abc import Iterator
from pathlib import Path

import pytest

from orchestrator.errors import Refused
from orchestrator.targets.software.isolation import Denied
from orchestrator.targets.software.kernel_refusals import refusal
from orchestrator.targets.software.xdp import bpf_program, privileged_setup, xdp_probe


def error(code: int) -> OSError:
    return OSError(code, os.strerror(code))


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "sys/kernel").mkdir(parents=True)
    (tmp_path / "self").mkdir()
    (tmp_path / "sys/kernel/unprivileged_bpf_disabled").write_text("2\n")
    (tmp_path / "self/uid_map").write_text("         0          0 4294967295\n")
    return tmp_path


def test_without_the_capability_both_are_named_and_the_setting_that_does_not_help(proc):
    told = str(xdp_probe.refused(error(errno.EPERM), proc))
    for part in (
        "CAP_BPF and CAP_NET_ADMIN",
        "EPERM",
        "kernel.unprivileged_bpf_disabled is 2, and no value of it allows",
        "run as root, or give both capabilities",
        "--datapath packet",
    ):
        assert part in told


def test_root_of_a_user_namespace_is_told_to_leave_it(proc):
    (proc / "self/uid_map").write_text("0 1000 1\n")
    told = str(xdp_probe.refused(error(errno.EPERM), proc))
    assert "outside of this user namespace" in told
    assert "--cap-add BPF --cap-add NET_ADMIN" in told


def test_a_kernel_without_the_setting_is_not_said_to_have_it(proc):
    (proc / "sys/kernel/unprivileged_bpf_disabled").unlink()
    assert "unprivileged_bpf_disabled" not in str(xdp_probe.refused(error(errno.EPERM), proc))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (errno.ENOSYS, "CONFIG_XDP_SOCKETS"),
        (errno.EINVAL, "CONFIG_BPF_SYSCALL"),
        (errno.EMFILE, "ulimit -n"),
        (errno.E2BIG, "does not load its program (E2BIG"),
    ],
)
def test_other_errors_have_their_own_words(code, text, proc):
    assert text in str(xdp_probe.refused(error(code), proc))


@pytest.mark.parametrize(
    ("code", "text"),
    [
        (errno.ENOBUFS, "may not lock as much memory"),
        (errno.EAFNOSUPPORT, "CONFIG_XDP_SOCKETS"),
        (errno.EBUSY, "another program"),
        (errno.EPERM, "denied the step 'XDP socket' (EPERM"),
    ],
)
def test_steps_of_the_worker_have_theirs(code, text, tmp_path):
    assert text in str(refusal(Denied("XDP socket", error(code)), tmp_path))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As on a machine that can hold namespaces, whatever this one is."""
    monkeypatch.setattr(xdp_probe, "probe", lambda: None)
    xdp_probe.xdp_refusal.cache_clear()
    yield
    xdp_probe.xdp_refusal.cache_clear()


def test_another_processor_is_refused_by_name(monkeypatch, asked):
    monkeypatch.setattr(platform, "machine", lambda: "riscv64")
    assert "tried on x86_64, and this is riscv64" in str(xdp_probe.xdp_refusal())


def test_what_lacks_namespaces_lacks_this(monkeypatch, asked):
    none = Refused("target software", "needs Linux", "Remedy: Linux")
    monkeypatch.setattr(xdp_probe, "probe", lambda: none)
    assert xdp_probe.xdp_refusal() is none


def test_a_denied_program_is_the_lack(monkeypatch, asked):
    if platform.machine() not in xdp_probe.PROCESSORS:
        pytest.skip("another lack comes first")

    def denied(ports: int) -> None:
        raise error(errno.EPERM)

    monkeypatch.setattr(privileged_setup, "make", denied)
    monkeypatch.setattr(xdp_probe.socket, "socket", _Nothing)
    assert "CAP_BPF" in str(xdp_probe.xdp_refusal())


class _Nothing:
    def __init__(self, *arguments: object) -> None:
        pass

    def close(self) -> None:
        pass


def test_the_program_is_what_the_kernel_documents():
    """Word for word, as `bpf_asm` and `include/uapi/linux/bpf.h` have it."""
    words = [
        "61 12 1000 00000000",  # r2 = context.rx_queue_index
        "a5 02 0200 02000000",  # if r2 < 2 go on behind the next two
        "b7 00 0000 02000000",  # r0 = XDP_PASS
        "95 00 0000 00000000",
        "07 02 0000 06000000",  # r2 += 6
        "18 11 0000 05000000",  # r1 = the map of descriptor 5
        "00 00 0000 00000000",
        "b7 03 0000 02000000",  # r3 = XDP_PASS, for a frame without a socket
        "85 00 0000 33000000",  # bpf_redirect_map
        "95 00 0000 00000000",
    ]
    assert bpf_program.assembled(sockets=5, first=6, queues=2) == bytes.fromhex("".join(words))
