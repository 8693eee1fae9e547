"""gRPC transport of the OTG server, on the stubs of `snappi`; loopback only, as it has no token.

Every user of the machine may use it. Connections are bounded as those of REST are, and frames by
a relay; options of gRPC bound calls, the octets of a message and of its metadata, and the time of a
connection. gRPC has no time limit for a request that does not end, so each connection ends after
`AGE_MS`: the clients of gRPC open another one for the next call, and a call under way has
`GRACE_MS`.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from concurrent import futures
from typing import Any

import grpc
from google.protobuf import json_format
from google.protobuf.message import DecodeError
from snappi import otg_pb2, otg_pb2_grpc

from orchestrator.deferred_signals import deferred_signals
from orchestrator.errors import BadInput
from orchestrator.otg.bounded_site import BoundedSite, LoopThread
from orchestrator.otg.http2_relay import Http2Relay
from orchestrator.otg.otg_reader import OtgError
from orchestrator.otg.otg_service import Message, OtgService

CALLS, STREAMS = 32, 4
"""Calls at once (a thread each), and of one connection."""
FIRST_S = 30.0
"""Time in which the first call of a connection has to be answered."""
MOST_OCTETS = 16 << 20
"""Of a configuration that comes in pieces; a message has 4 MiB, which is gRPC's own bound."""
METADATA_OCTETS = 8192
HANDSHAKE_MS, IDLE_MS, AGE_MS, GRACE_MS = 5000, 30_000, 60_000, 15_000
OPTIONS = (
    ("grpc.so_reuseport", 0),
    ("grpc.max_concurrent_streams", STREAMS),
    ("grpc.max_receive_message_length", 4 << 20),
    ("grpc.max_metadata_size", METADATA_OCTETS),
    ("grpc.absolute_max_metadata_size", METADATA_OCTETS),
    ("grpc.server_handshake_timeout_ms", HANDSHAKE_MS),
    ("grpc.http2.settings_timeout", HANDSHAKE_MS),
    ("grpc.max_connection_idle_ms", IDLE_MS),
    ("grpc.max_connection_age_ms", AGE_MS),
    ("grpc.max_connection_age_grace_ms", GRACE_MS),
)
CHUNK_OCTETS = 1 << 20
"""Of an answer that is streamed."""
GRACE_S = 1.0
CODES = {False: grpc.StatusCode.INVALID_ARGUMENT, True: grpc.StatusCode.INTERNAL}


def as_dict(message: Any) -> Message:
    """JSON form of a message of the model."""
    found: Message = json_format.MessageToDict(message, preserving_proto_field_name=True)
    return found


class OtgServicer(otg_pb2_grpc.OpenapiServicer):
    """The calls of the model; those that stream carry the same messages in pieces."""

    def __init__(self, service: OtgService) -> None:
        self._service = service

    def _served(self, context: Any, function: Callable[..., Any], *arguments: Any) -> Any:
        try:
            return function(*arguments)
        except OtgError as error:
            context.abort(CODES[error.internal], json.dumps(error.message()))
        except OSError as error:
            failed = OtgError([f"this machine: {error}"], internal=True)
            context.abort(CODES[True], json.dumps(failed.message()))

    def _reply(self, kind: Any, field: str, message: Message) -> Any:
        return json_format.ParseDict({field: message}, kind())

    def _joined(self, pieces: Any, context: Any, kind: Any) -> Any:
        """A message that comes in pieces, of at most `MOST_OCTETS`."""
        octets = bytearray()
        for piece in pieces:
            octets += piece.datum
            if len(octets) > MOST_OCTETS:
                self._refuse(context, f"a message of at most {MOST_OCTETS} octets is accepted")
        try:
            return kind.FromString(bytes(octets))
        except DecodeError:
            self._refuse(context, "the pieces are no message of the model")

    def _refuse(self, context: Any, sentence: str) -> None:
        context.abort(CODES[False], json.dumps(OtgError([sentence]).message()))

    def SetConfig(self, request: Any, context: Any) -> Any:
        """Replace the configuration."""
        found = self._served(context, self._service.set_config, as_dict(request.config))
        return self._reply(otg_pb2.SetConfigResponse, "warning", found)

    def streamSetConfig(self, request_iterator: Any, context: Any) -> Any:
        """Replace the configuration, which comes in pieces."""
        config = self._joined(request_iterator, context, otg_pb2.Config)
        return self.SetConfig(otg_pb2.SetConfigRequest(config=config), context)

    def GetConfig(self, request: Any, context: Any) -> Any:
        """The configuration."""
        return self._reply(otg_pb2.GetConfigResponse, "config", self._service.get_config())

    def streamGetConfig(self, request: Any, context: Any) -> Iterator[Any]:
        """The configuration, in pieces."""
        yield from _pieces(self.GetConfig(request, context).config.SerializeToString())

    def SetControlState(self, request: Any, context: Any) -> Any:
        """Start and stop traffic and captures."""
        message = as_dict(request.control_state)
        found = self._served(context, self._service.set_control_state, message)
        return self._reply(otg_pb2.SetControlStateResponse, "warning", found)

    def streamSetControlState(self, request_iterator: Any, context: Any) -> Any:
        """The same, in pieces."""
        state = self._joined(request_iterator, context, otg_pb2.ControlState)
        return self.SetControlState(otg_pb2.SetControlStateRequest(control_state=state), context)

    def GetMetrics(self, request: Any, context: Any) -> Any:
        """Metrics of ports or flows."""
        message = as_dict(request.metrics_request)
        found = self._served(context, self._service.get_metrics, message)
        return self._reply(otg_pb2.GetMetricsResponse, "metrics_response", found)

    def streamGetMetrics(self, request: Any, context: Any) -> Iterator[Any]:
        """The same, in pieces."""
        answer = self.GetMetrics(request, context)
        yield from _pieces(answer.metrics_response.SerializeToString())

    def GetCapture(self, request: Any, context: Any) -> Any:
        """The capture file of a port."""
        message = as_dict(request.capture_request)
        found = self._served(context, self._service.get_capture, message)
        return otg_pb2.GetCaptureResponse(response_bytes=found)

    def streamGetCapture(self, request: Any, context: Any) -> Iterator[Any]:
        """The same, in pieces."""
        yield from _pieces(self.GetCapture(request, context).response_bytes)

    def GetVersion(self, request: Any, context: Any) -> Any:
        """Versions."""
        return self._reply(otg_pb2.GetVersionResponse, "version", self._service.get_version())

    def _unsupported(self, name: str, context: Any) -> Any:
        return self._served(context, self._service.unsupported(name))

    def UpdateConfig(self, request: Any, context: Any) -> Any:
        """Refused."""
        return self._unsupported("update_config", context)

    def AppendConfig(self, request: Any, context: Any) -> Any:
        """Refused."""
        return self._unsupported("append_config", context)

    def DeleteConfig(self, request: Any, context: Any) -> Any:
        """Refused."""
        return self._unsupported("delete_config", context)

    def SetControlAction(self, request: Any, context: Any) -> Any:
        """Refused."""
        return self._unsupported("set_control_action", context)

    def GetStates(self, request: Any, context: Any) -> Any:
        """Refused."""
        return self._unsupported("get_states", context)


def _pieces(octets: bytes) -> Iterator[Any]:
    for at in range(0, len(octets), CHUNK_OCTETS):
        yield otg_pb2.Data(datum=octets[at : at + CHUNK_OCTETS], chunk_size=CHUNK_OCTETS)


class GrpcServer:
    """The server; `port` is the one that it listens on. Raises BadInput for the address.

    gRPC listens on a socket in a private folder, behind a relay for each connection.
    """

    def __init__(self, service: OtgService, address: tuple[str, int]) -> None:
        try:
            self._site = BoundedSite(address, first_s=FIRST_S)
        except OSError as error:
            raise BadInput(
                "--grpc",
                f"{address[0]}:{address[1]} cannot be listened on ({error.strerror}); another "
                "address or port is expected, such as port 0 for any free one",
            ) from None
        self.port: int = self._site.address[1]
        self._loop = LoopThread("otg-grpc", lambda context: None)
        self._folder = tempfile.mkdtemp(prefix="tailback-")
        path = f"{self._folder}/grpc"
        self._server = grpc.server(
            futures.ThreadPoolExecutor(CALLS, thread_name_prefix="otg-grpc"),
            options=OPTIONS,
            maximum_concurrent_rpcs=CALLS,
        )
        otg_pb2_grpc.add_OpenapiServicer_to_server(OtgServicer(service), self._server)
        self._server.add_insecure_port(f"unix:{path}")
        try:
            self._server.start()
            self._loop.run(self._listen(path))
        except BaseException:
            self.close()
            raise

    async def _listen(self, path: str) -> None:
        opened = set[Http2Relay]()
        answered = self._site.note_authorized
        self._site.start(lambda: Http2Relay(path, answered, opened), lambda: opened)

    def close(self) -> None:
        """Stop listening."""
        with deferred_signals():
            self._loop.run(self._site.close())
            self._server.stop(GRACE_S).wait()
            self._loop.close()
            shutil.rmtree(self._folder, ignore_errors=True)
