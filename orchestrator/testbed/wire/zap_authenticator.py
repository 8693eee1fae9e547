"""ZAP authenticator: the handler of ZeroMQ's authentication protocol (ZeroMQ RFC 27), default deny.

It reads the authorised keys anew at every handshake, so that a key counts, or no longer counts,
without a restart. `source` gives the address of the peer that is being judged, where ZeroMQ cannot.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import zmq
from zmq.utils import z85

from orchestrator.deferred_signals import deferred_signals
from orchestrator.errors import BadInput
from orchestrator.testbed import curve_keys

LOOK_S = 0.25
"""For which keys that were read count: a revoked one is good for no longer than that."""
TICK_S = 0.05
"""Above the resolution of a folder's time of change: a change so long before the keys were read may
have come after them."""
ENDPOINT = "inproc://zeromq.zap.01"
Denied = Callable[[str, str], None]
"""Called with the peer's address and why it was turned away."""


class AuthorisedKeys:
    """Currently authorised keys.

    A failure to read decides nothing: what was read last of a file, or of the folder, counts on,
    and `say` gets the reason once. A folder that others could write to is a decision: no key of it
    counts.
    """

    def __init__(self, folder: Path, say: Callable[[str], None] = lambda text: None) -> None:
        self._folder, self._say = folder, say
        self._list = curve_keys.KeyList({}, {})
        self._known: dict[str, curve_keys.Caller] = {}
        self._read_s, self._began_s = -LOOK_S, 0.0
        self._why = ""

    def caller(self, public: str) -> curve_keys.Caller | None:
        """Holder of a key; None when it is not authorised, or the keys cannot be trusted."""
        old = time.monotonic() - self._read_s >= LOOK_S
        if old or (public not in self._known and self._may_have_changed()):
            self.read()
        return self._known.get(public)

    def _may_have_changed(self) -> bool:
        """Return whether a key may have come since the keys were read."""
        try:
            changed_s = (self._folder / curve_keys.AUTHORISED).stat().st_mtime
        except OSError:  # `read` says why
            return False
        return changed_s >= self._began_s - TICK_S

    def read(self) -> str:
        """Read the keys now; the reason why the list is not that of the folder, or nothing."""
        why = ""
        self._began_s = time.time()
        try:
            self._list = curve_keys.read_callers(self._folder, last=self._list)
            for path, reason in self._list.unreadable.items():
                why = f"{path}: {reason}; what was read last of it counts on"
        except BadInput as error:
            self._list = curve_keys.KeyList({}, {})
            why = f"the authorised keys are not to be trusted: {error}"
        except OSError as error:
            why = f"the authorised keys cannot be read ({error.strerror}); the last list counts on"
        self._known = self._list.callers()
        self._read_s = time.monotonic()
        if why != self._why:
            self._why = why
            self._say(why or "the authorised keys can be read again")
        return why


class ZapAuthenticator:
    """Answers ZeroMQ's questions about peers, in a thread, for all sockets of a context."""

    def __init__(
        self,
        context: zmq.Context[zmq.Socket[bytes]],
        folder: Path,
        on_denied: Denied,
        source: Callable[[], str] | None = None,
        say: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._keys, self._on_denied, self._source = AuthorisedKeys(folder, say), on_denied, source
        self._socket = context.socket(zmq.REP)
        self._socket.linger = 0
        self._socket.bind(ENDPOINT)
        self._stop, far = _pair(context)
        self._closing = False
        self._thread = threading.Thread(target=self._serve, args=(far,), name="gate", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop: no peer can connect any more."""
        with deferred_signals():
            self._closing = True
            self._stop.send(b"")
            self._thread.join()
            self._stop.close()

    def _serve(self, stop: zmq.Socket[bytes]) -> None:
        poller = zmq.Poller()
        poller.register(self._socket, zmq.POLLIN)
        poller.register(stop, zmq.POLLIN)
        with suppress(zmq.ContextTerminated):  # its sockets' owner has gone: that ends it too
            while stop not in dict(poller.poll()):
                self._socket.send_multipart(self.judge(self._socket.recv_multipart()))
        self._socket.close()
        stop.close()
        if not self._closing:  # no other thread closes it
            self._stop.close()

    def judge(self, request: list[bytes]) -> list[bytes]:
        """The answer to one request; the user id of an authorised peer is its public key."""
        parts = [*request, *[b""] * 8]
        version, number, _, address, _, mechanism, credential = parts[:7]
        public, reason = self._look_up(mechanism, credential)
        if public is None:
            named = address.decode("ascii", "replace") if self._source is None else self._source()
            self._on_denied(named, reason)
            return [version, number, b"400", reason.encode(), b"", b""]
        return [version, number, b"200", b"OK", public.encode(), b""]

    def _look_up(self, mechanism: bytes, credential: bytes) -> tuple[str | None, str]:
        if mechanism != b"CURVE":
            what = mechanism.decode("ascii", "replace")[:20] or "none"
            return None, f"it wants the mechanism {what}, only CURVE is let in"
        public = z85.encode(credential).decode("ascii") if len(credential) == 32 else ""
        why = self._keys.read()
        if self._keys.caller(public) is not None:
            return public, ""
        return None, f"its key {public} is not among the authorised ones" + (f"; {why}" * bool(why))


def _pair(
    context: zmq.Context[zmq.Socket[bytes]],
) -> tuple[zmq.Socket[bytes], zmq.Socket[bytes]]:
    near, far = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    near.linger = far.linger = 0
    endpoint = f"inproc://gate-{id(near):x}"
    near.bind(endpoint)
    far.connect(endpoint)
    return near, far
