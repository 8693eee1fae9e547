"""`tailback otg`: serves interfaces as ports of an Open Traffic Generator."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from orchestrator.cli.metrics_option import Metrics, check_metrics, serve_metrics
from orchestrator.terminal import exit_codes


def otg(
    ports: Annotated[
        list[str],
        typer.Option(
            "--port",
            metavar="LOCATION=INTERFACE[@RATE]",
            help="A port: the `location` in configurations, its interface, and the rate of the "
            "link, of which percentages are, where the interface does not report it: "
            "p1=veth1@10Gb/s.",
        ),
    ],
    listen: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address of the REST interface; not loopback for other machines, which needs "
            "--token-file. Port 0: any free one.",
        ),
    ] = "127.0.0.1:8443",
    grpc: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS",
            help="Serve gRPC as well, on the loopback, such as 127.0.0.1:40051; not with "
            "--token-file.",
        ),
    ] = None,
    token_file: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with a token of 16 to 256 characters, which requests must carry: "
            "https://otg:TOKEN@HOST:PORT as snappi's location.",
        ),
    ] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Certificate (PEM): HTTPS, not HTTP.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Private key of the certificate (PEM).")
    ] = None,
    in_use: Annotated[
        bool,
        typer.Option(
            "--in-use", help="Allow interfaces that have addresses or carry other interfaces."
        ),
    ] = False,
    metrics: Metrics = None,
) -> None:
    """Serve interfaces as ports of an Open Traffic Generator, for `snappi` scripts.

    Raw flows (Ethernet, VLAN, IPv4, IPv6, UDP, PFC, PAUSE) leave through AF_PACKET at the times
    that their rates give; ports are captured, and frames, loss and latency are reported. Devices
    have RoCEv2 queue pairs, whose flows DCQCN controls: CNPs, CE marks, acknowledgements and
    completion times are reported. A part of the model that is not supported is refused by the name
    of its field. Needs CAP_NET_RAW and the extra otg.

    \b
      tailback otg --port p1=veth1 --port p2=veth2
      tailback otg --listen 192.0.2.1:8443 --port p1=eth1 --token-file token \\
        --tls-cert cert.pem --tls-key key.pem --metrics 127.0.0.1:9464

    \b
    Ctrl-C ends it: exit code 130. 2: bad input, or no right to send.
    """
    from orchestrator.otg.otg_metrics import OtgExporter
    from orchestrator.otg.otg_server import read_options, require_extra, running_server, wait

    check_metrics(metrics)
    options = read_options(ports, listen, grpc, token_file, (tls_cert, tls_key), in_use)
    require_extra()
    with (
        running_server(options, exit_codes.say) as service,
        serve_metrics(metrics, OtgExporter(service).readings),
    ):
        wait()


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(otg)
