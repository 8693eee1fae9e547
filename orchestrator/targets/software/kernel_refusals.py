"""Refusals with a remedy for steps that the kernel denied."""

from __future__ import annotations

import errno
import os
from pathlib import Path

from orchestrator.errors import Refused
from orchestrator.targets.software.isolation import Denied

WHO = "target software"
SETTINGS = {  # file below /proc/sys: (the value that forbids, what it means, what allows it)
    "user/max_user_namespaces": ("0", "no user namespace may be made", 15000),
    "user/max_net_namespaces": ("0", "no network namespace may be made", 15000),
    "kernel/unprivileged_userns_clone": ("0", "user namespaces are kept to root", 1),
    "kernel/apparmor_restrict_unprivileged_userns": (
        "1",
        "AppArmor denies capabilities in user namespaces of ordinary users",
        0,
    ),
}
XDP_SOCKET = "XDP socket"
XDP_LACKS = {  # step XDP_SOCKET by error
    errno.ENOBUFS: ("AF_XDP: this process may not lock as much memory", "raise `ulimit -l`"),
    errno.EAFNOSUPPORT: (
        "the kernel has no AF_XDP sockets",
        "a kernel with CONFIG_XDP_SOCKETS",
    ),
    errno.EBUSY: (
        "AF_XDP: the interface has another program, or its queue another socket",
        "remove that one",
    ),
}
SIMULATE = "or use the target simulated, which needs none of this."


def forbidding_setting(root: Path = Path("/proc/sys")) -> tuple[str, str] | None:
    """The lack and the remedy, when a kernel setting forbids ordinary users what we need."""
    for name, (forbidden, lack, allowed) in SETTINGS.items():
        try:
            value = (root / name).read_text(encoding="ascii").strip()
        except OSError:
            continue
        if value == forbidden:
            key = name.replace("/", ".")
            return f"{lack} here ({key} = {value})", f"`sysctl -w {key}={allowed}` as root,"
    return None


def refusal(denied: Denied, root: Path = Path("/proc/sys")) -> Refused:
    """Refusal with its remedy for a denied step."""
    lack, remedy = _explain(denied, root)
    return Refused(WHO, lack, f"Remedy: {remedy} {SIMULATE}")


def _explain(denied: Denied, root: Path) -> tuple[str, str]:
    name = errno.errorcode.get(denied.code, str(denied.code))
    what = f"the kernel denied the step '{denied.step}' ({name}: {os.strerror(denied.code)})"
    modules = {
        ("veth pair", errno.EOPNOTSUPP): ("the kernel has no veth interfaces", "veth"),
        ("packet socket", errno.EAFNOSUPPORT): ("the kernel has no packet sockets", "af_packet"),
    }
    if (denied.step, denied.code) in modules:
        lack, module = modules[denied.step, denied.code]
        return lack, f"`modprobe {module}` as root,"
    if denied.step == XDP_SOCKET and denied.code in XDP_LACKS:
        lack, remedy = XDP_LACKS[denied.code]
        return lack, f"{remedy}, --datapath packet,"
    setting = forbidding_setting(root)
    if setting is not None:
        return setting
    if denied.code == errno.EINVAL and denied.step == "user namespace":
        return "the kernel was built without user namespaces", "run as root,"
    if denied.code in (errno.ENOSPC, errno.EUSERS):
        return what, "end other sandboxes, or raise user.max_user_namespaces with sysctl,"
    if denied.code in (errno.EPERM, errno.EACCES, errno.EROFS):
        return what, (
            "if this is a container, start it with `--cap-add SYS_ADMIN --cap-add NET_ADMIN` or "
            "a seccomp profile that allows unshare,"
        )
    return what, "run as root,"
