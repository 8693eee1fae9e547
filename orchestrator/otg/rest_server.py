"""REST transport of the OTG server: HTTP or HTTPS by aiohttp, with a token where one is set.

`snappi` sends no token of its own but takes credentials from its location,
`https://otg:TOKEN@host:8443`, as HTTP's basic authentication; a bearer token is accepted, too.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hmac
import logging
import os
import ssl
from collections.abc import Callable
from typing import Any

from aiohttp import web
from google.protobuf import json_format
from snappi import api, otg_pb2

from orchestrator.deferred_signals import deferred_signals
from orchestrator.errors import BadInput
from orchestrator.otg.bounded_site import BoundedSite, LoopThread
from orchestrator.otg.otg_reader import OtgError
from orchestrator.otg.otg_service import Message, OtgService
from orchestrator.testbed.wire.log_limit import LogLimit

MOST_OCTETS = 16 << 20
"""Of a request."""
BODY_S, ANSWER_S = 30.0, 60.0
"""Time for the body of a request, and for its answer to be taken."""
CALLS = 8
"""Requests at once whose bodies and answers are in memory; further ones wait, for `BODY_S`."""
IDLE_S, SHUTDOWN_S = 30.0, 1.0
LINGER_S = 1.0
"""Time in which the rest of a request that was refused is read and dropped."""
LINE_OCTETS, HEADER_OCTETS, HEADERS = 2048, 2048, 64
"""Octets of a request's first line and of each header, and headers of a request."""
REQUEST_LIMITS: dict[str, Any] = {
    "max_line_size": LINE_OCTETS,
    "max_field_size": HEADER_OCTETS,
    "max_headers": HEADERS,
    "keepalive_timeout": IDLE_S,
    "lingering_time": LINGER_S,
    "auto_decompress": False,
}
"""Options of aiohttp's server: a compressed body would be bounded only after it is unpacked."""
SPOKEN = "set the location to https://otg:TOKEN@HOST:PORT, or send `Authorization: Bearer TOKEN`"


def parse_message(text: str, kind: Any) -> Message:
    """JSON of a request, held to the model. Raises OtgError with the path of what is not in it."""
    try:
        parsed = json_format.Parse(text or "{}", kind())
    except json_format.ParseError as error:
        raise OtgError([str(error)]) from None
    return json_format.MessageToDict(parsed, preserving_proto_field_name=True)


def authorized(header: str | None, token: str) -> bool:
    """True if an `Authorization` header carries the token, as a bearer's or a password."""
    kind, _, rest = (header or "").partition(" ")
    if kind.lower() == "bearer":
        given = rest.strip()
    elif kind.lower() == "basic":
        try:
            given = base64.b64decode(rest, validate=True).decode().partition(":")[2]
        except (binascii.Error, UnicodeDecodeError):
            return False
    else:
        return False
    return hmac.compare_digest(given.encode(), token.encode())


def _answer(error: OtgError) -> web.Response:
    return web.json_response(error.message(), status=error.code)


async def _answered(request: web.Request, handler: Any) -> web.StreamResponse:
    """Answer of a handler, or of its error."""
    try:
        answer: web.StreamResponse = await handler(request)
    except OtgError as error:
        return _answer(error)
    except web.HTTPRequestEntityTooLarge:
        return _answer(OtgError([f"a request of at most {MOST_OCTETS} octets is accepted"]))
    except ConnectionError:  # the client is gone
        raise
    except OSError as error:
        return _answer(OtgError([f"this machine: {error}"], internal=True))
    return answer


class _LimitedLog(logging.Handler):
    """Log handler of aiohttp: a sentence per record, and few of them per minute."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self.say = LogLimit(say)

    def emit(self, record: logging.LogRecord) -> None:
        """Say one record."""
        error = record.exc_info[1] if record.exc_info else None
        self.say(f"REST: {record.getMessage()}" + (f": {error!r}" if error else ""))


def application(
    service: OtgService, token: str | None, note_authorized: Callable[[Any], None]
) -> web.Application:
    """The application of aiohttp with the eleven calls of the model.

    `note_authorized` is called with aiohttp's protocol of a connection that may use the server:
    with a request that carries the token or, without one, with a complete request.
    """
    turns = asyncio.Semaphore(CALLS)

    @web.middleware
    async def guard(request: web.Request, handler: Any) -> web.StreamResponse:
        if token is not None and not authorized(request.headers.get("Authorization"), token):
            error = {"code": 401, "kind": "validation", "errors": [f"token expected; {SPOKEN}"]}
            headers = {"WWW-Authenticate": 'Basic realm="tailback otg"'}
            return web.json_response(error, status=401, headers=headers)
        if token is not None or not request.body_exists:
            note_authorized(request.protocol)
        try:
            await asyncio.wait_for(turns.acquire(), BODY_S)
        except TimeoutError:
            return _answer(OtgError([f"{CALLS} requests are served already"], internal=True))
        try:
            answer = await _answered(request, handler)
            async with asyncio.timeout(ANSWER_S):
                await answer.prepare(request)
                await answer.write_eof()
        except TimeoutError:
            if request.transport is not None:
                request.transport.abort()
            raise ConnectionResetError("the answer was not taken") from None
        finally:
            turns.release()
        return answer

    def call(function: Callable[..., Any], kind: Any = None) -> Any:
        async def handle(request: web.Request) -> web.Response:
            arguments = []
            if kind is not None:
                try:
                    async with asyncio.timeout(BODY_S):
                        text = await request.text()
                except UnicodeDecodeError:
                    raise OtgError(["the request is not UTF-8"]) from None
                except TimeoutError:
                    raise OtgError([f"the request did not come within {BODY_S:g} s"]) from None
                note_authorized(request.protocol)
                arguments.append(parse_message(text, kind))
            found = await asyncio.to_thread(function, *arguments)
            if isinstance(found, bytes):
                return web.Response(body=found, content_type="application/octet-stream")
            return web.json_response(found)

        return handle

    app = web.Application(client_max_size=MOST_OCTETS, middlewares=[guard])
    app.add_routes(
        [
            web.post("/config", call(service.set_config, otg_pb2.Config)),
            web.get("/config", call(service.get_config)),
            web.patch("/config", call(service.unsupported("update_config"))),
            web.patch("/config/append", call(service.unsupported("append_config"))),
            web.patch("/config/delete", call(service.unsupported("delete_config"))),
            web.post("/control/state", call(service.set_control_state, otg_pb2.ControlState)),
            web.post("/control/action", call(service.unsupported("set_control_action"))),
            web.post("/monitor/metrics", call(service.get_metrics, otg_pb2.MetricsRequest)),
            web.post("/monitor/states", call(service.unsupported("get_states"))),
            web.post("/monitor/capture", call(service.get_capture, otg_pb2.CaptureRequest)),
            web.get("/capabilities/version", call(service.get_version)),
        ]
    )
    return app


def tls_context(certificate: str, key: str) -> ssl.SSLContext:
    """TLS of a server. Raises BadInput for files that cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        for path in (certificate, key):
            if not os.path.isfile(path):  # OpenSSL looks for a certificate in /dev/zero for ever
                raise FileNotFoundError(f"{path} is no regular file")
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as error:
        raise BadInput(
            "--tls-cert, --tls-key",
            f"{certificate} and {key} cannot be used ({error}); a certificate and its key in PEM "
            "are expected",
        ) from None
    return context


class RestServer:
    """The server, in a thread of its own; `port` is the one that it listens on."""

    def __init__(
        self,
        service: OtgService,
        address: tuple[str, int],
        token: str | None,
        tls: ssl.SSLContext | None,
        say: Callable[[str], None],
    ) -> None:
        try:
            self._site = BoundedSite(address, tls)
        except OSError as error:
            raise BadInput(
                "--listen",
                f"{address[0]}:{address[1]} cannot be listened on ({error.strerror}); another "
                "address or port is expected, such as port 0 for any free one",
            ) from None
        self.port = self._site.address[1]
        self._log = _LimitedLog(say)
        logger = logging.Logger("otg-rest")  # a logger of this server alone
        logger.addHandler(self._log)
        self._runner = web.AppRunner(
            application(service, token, self._site.note_authorized),
            access_log=None,
            logger=logger,
            shutdown_timeout=SHUTDOWN_S,
            **REQUEST_LIMITS,
        )
        self._loop = LoopThread("otg-rest", self._on_loop_error)
        try:
            self._loop.run(self._listen())
        except BaseException:
            self.close()
            raise

    async def _listen(self) -> None:
        await self._runner.setup()
        server = self._runner.server
        assert server is not None
        self._site.start(server, lambda: server.connections)

    def _on_loop_error(self, context: dict[str, Any]) -> None:
        """Log an error of the loop, unless a peer broke its connection or its TLS."""
        error = context.get("exception")
        if not isinstance(error, OSError):
            self._log.say(f"REST: {context.get('message')}: {error!r}")

    async def _end(self) -> None:
        await self._site.close()
        await self._runner.cleanup()

    def close(self) -> None:
        """Stop listening."""
        with deferred_signals():
            self._loop.run(self._end())
            self._loop.close()


def api_version() -> str:
    """Version of the model that the installed `snappi` speaks."""
    found: str = api(version_check=True).get_local_version().api_spec_version
    return found
