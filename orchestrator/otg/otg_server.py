"""Server process of `tailback otg`: options, ports, generator, transports, until it is ended."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from orchestrator import bounded_file
from orchestrator.errors import BadInput, Refused
from orchestrator.metrics_export.http_endpoint import is_loopback, parse_address
from orchestrator.otg.port_interfaces import WHO, opened_ports, parse_ports

if TYPE_CHECKING:
    from orchestrator.otg.otg_service import OtgService

EXAMPLE = "127.0.0.1:8443"
TOKEN = re.compile(r"[A-Za-z0-9._~-]{16,256}")
"""Characters that a URL takes as they are (RFC 3986, section 2.3: unreserved)."""
MOST_TOKEN_OCTETS = 4096
"""Octets of a token file that are read."""
WAIT_S = 0.2


@dataclass(frozen=True)
class ServerOptions:
    """Options of a server, checked."""

    ports: Mapping[str, tuple[str, int | None]]
    listen: tuple[str, int]
    grpc: tuple[str, int] | None
    token: str | None
    tls: tuple[str, str] | None
    in_use: bool


def read_options(
    ports: list[str],
    listen: str,
    grpc: str | None,
    token_file: Path | None,
    tls: tuple[Path | None, Path | None],
    in_use: bool,
) -> ServerOptions:
    """Options of the command line. Raises BadInput."""
    address = parse_address(listen, "--listen", EXAMPLE)
    token = None if token_file is None else read_token(token_file)
    if not is_loopback(address[0]) and token is None:
        raise BadInput(
            "--listen",
            f"{listen!r} is not accepted without --token-file: other machines could send frames "
            f"through this one; the loopback is accepted, such as {EXAMPLE}",
        )
    if (tls[0] is None) != (tls[1] is None):
        raise BadInput("--tls-cert, --tls-key", "one without the other is not accepted; both are")
    grpc_address = None
    if grpc is not None:
        grpc_address = parse_address(grpc, "--grpc", "127.0.0.1:40051")
        if not is_loopback(grpc_address[0]) or token is not None:
            raise BadInput(
                "--grpc",
                f"{grpc!r} is not accepted; gRPC has no token here (snappi's client sends none), "
                "so it is served on the loopback, and without --token-file",
            )
    files = (str(tls[0]), str(tls[1])) if tls[0] is not None else None
    return ServerOptions(parse_ports(ports), address, grpc_address, token, files, in_use)


def read_token(path: Path) -> str:
    """The token of a file. Raises BadInput."""
    try:
        token = bounded_file.read_text(path, MOST_TOKEN_OCTETS).strip()
    except (OSError, ValueError) as error:
        raise BadInput(
            "--token-file", f"{path} cannot be read ({error}); a file is expected"
        ) from None
    if not TOKEN.fullmatch(token):
        raise BadInput(
            "--token-file",
            f"{path}: its text is not accepted; a token of 16 to 256 letters, digits and ._~- is, "
            "such as `openssl rand -hex 16` prints",
        )
    return token


def require_extra() -> None:
    """Raises Refused without the extra `otg`."""
    try:
        import aiohttp  # noqa: F401
        import snappi  # noqa: F401
    except ImportError as error:
        raise Refused(
            WHO, f"{error.name} is not installed", "pip install 'tailback-testbed[otg]'"
        ) from None


@contextlib.contextmanager
def running_server(options: ServerOptions, say: Callable[[str], None]) -> Iterator[OtgService]:
    """The server's service as long as the block lasts; `say` is called with its addresses."""
    from orchestrator.otg.generator import Generator
    from orchestrator.otg.grpc_server import GrpcServer
    from orchestrator.otg.otg_service import OtgService
    from orchestrator.otg.rest_server import RestServer, api_version, tls_context

    tls = None if options.tls is None else tls_context(*options.tls)
    with contextlib.ExitStack() as stack:
        interfaces, sockets, sender = stack.enter_context(
            opened_ports(options.ports, in_use=options.in_use)
        )
        generator = Generator(interfaces, sockets, sender)
        stack.callback(generator.close)
        service = OtgService(generator, api_version())
        say("compiling the loop of the generator")
        generator.begin()
        rest = RestServer(service, options.listen, options.token, tls, say)
        stack.callback(rest.close)
        host = options.listen[0]
        scheme = "http" if tls is None else "https"
        shown = f"[{host}]" if ":" in host else host
        if not is_loopback(host) and tls is None:
            say("without --tls-cert the token and all requests go over the network in the clear")
        if options.grpc is not None:
            grpc_server = GrpcServer(service, options.grpc)
            stack.callback(grpc_server.close)
            say(f"OTG over gRPC at {options.grpc[0]}:{grpc_server.port}")
        say(f"OTG at {scheme}://{shown}:{rest.port}")
        yield service


def wait() -> None:
    """Wait for the signal that ends the process."""
    forever = threading.Event()
    while not forever.wait(WAIT_S):
        pass
