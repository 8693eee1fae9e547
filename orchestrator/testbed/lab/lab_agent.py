"""Agent process of a local testbed: its socket is in the host's namespace, its NICs in its own.

Started as `python -m orchestrator.testbed.lab.lab_agent PARENT LISTEN USER NETWORK NAME KEYS
STATE`, with descriptors of a listening socket and of the two namespaces. It ends with its parent.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path

from orchestrator.targets.software.linux_syscalls import die_with_parent, enter_network, enter_user


def main(words: list[str]) -> int:
    """Enter the machine, then serve it as any agent does."""
    parent, listening, user, network = map(int, words[:4])
    name, folder, state = words[4], Path(words[5]), Path(words[6])
    from orchestrator import ownership, private_cache
    from orchestrator.engine import cache_paths
    from orchestrator.testbed import curve_keys

    # Owners of parent folders are visible outside the namespace alone.
    curve_keys.verify(folder)
    ownership.verify(private_cache.made(state))  # its journal refuses it where it is exposed
    cache_paths.folder()
    if not os.path.samestat(os.fstat(user), os.stat("/proc/self/ns/user")):
        enter_user(user)  # while there is one thread
    enter_network(network)
    for descriptor in (user, network):
        os.close(descriptor)
    die_with_parent(signal.SIGTERM)
    if os.getppid() != parent:
        return 1
    from orchestrator.errors import TailbackError
    from orchestrator.terminal import exit_codes
    from orchestrator.testbed.agent.agent_process import serve

    def say(text: str) -> None:
        exit_codes.say(f"{name}: {text}")

    try:
        asyncio.run(serve(name, "tcp://127.0.0.1:*", folder, state, say, listening))
    except TailbackError as error:
        return exit_codes.explain(error)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
