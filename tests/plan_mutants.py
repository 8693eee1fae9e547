"""Slips of a hand in a plan's text: in octets, in lines, in values and in keys. Seeded."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

ASSIGNMENT = re.compile(r"^(\s*)([\w-]+)( = )(.*)$")
JUNK = [
    *('""', '" "', "true", "-1", "0", "1", "0.5", "1e308", "1e400", "nan", "-inf", "[]", "{}"),
    *("[[]]", "[1, 2]", "{ a = 1 }", "9223372036854775807", "9223372036854775808", "10" * 40),
    *("1979-05-27", "07:32:00", "'''", '"\\u0000"', '"é"', '"../../etc/passwd"', '"-"', '"."'),
    *('"1ps"', '"0s"', '"-1s"', '"1e30s"', '"99999h"', '"0B"', '"1B"', '"9999GB"', '"1.5B"'),
    *('"0b/s"', '"1b/s"', '"9999Gb/s"', '"1/0"', '"0/1"', '"1/3"', '"NaN"', '"1 Gb/s"', '"1GB/s"'),
    *('"nic"', '"switch"', '"sink"', '"up"', '"gen"', '"qcn-cp"', '"qcn-rp"', '"cbr"', '"pause"'),
    *('"simulated"', '"software"', '"gateware"', '"nodes.switch.buffer"', '"switch.sink"'),
    *('{ plugin = "qcn-cp" }', '{ plugin = "pause", high = "1KB", low = "2KB" }', '["nic", "nic"]'),
]


def in_octets(draw: random.Random, text: str) -> bytes:
    """One to four octets changed, lost or put in; what comes out may be no text."""
    data = bytearray(text.encode())
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data))
        how = draw.randrange(4)
        if how == 0:
            data[at] = draw.randrange(256)
        elif how == 1:
            del data[at : at + draw.randint(1, 8)]
        elif how == 2:
            data.insert(at, draw.choice(b"\"'=[]{}#.,\n\r\t\\0\x00\xff"))
        else:
            data[at] ^= 1 << draw.randrange(8)
    return bytes(data)


def in_lines(draw: random.Random, text: str) -> bytes:
    """One to three lines lost, doubled or moved, or the rest of the file."""
    lines = text.splitlines()
    for _ in range(draw.randint(1, 3)):
        at = draw.randrange(len(lines))
        how = draw.randrange(4)
        if how == 0:
            del lines[at]
        elif how == 1:
            lines.insert(draw.randrange(len(lines)), lines[at])
        elif how == 2:
            lines.insert(draw.randrange(len(lines)), lines.pop(at))
        elif draw.random() < 0.3:
            del lines[at + 1 :]
    return "\n".join(lines).encode()


def _assignments(lines: list[str]) -> list[tuple[int, re.Match[str]]]:
    return [(k, match) for k, line in enumerate(lines) if (match := ASSIGNMENT.match(line))]


def in_values(draw: random.Random, text: str) -> bytes:
    """One to three values replaced: by junk, by another value of the file, by a changed number."""
    lines = text.splitlines()
    for _ in range(draw.randint(1, 3)):
        found = _assignments(lines)
        at, match = draw.choice(found)
        how = draw.randrange(3)
        value = match[4]
        if how == 0:
            value = draw.choice(JUNK)
        elif how == 1:
            value = draw.choice(found)[1][4]
        else:
            change = draw.choice(["", "0", "-1", "999999999999", "0.0001", "1e3", "x"])
            value = re.sub(r"\d+(\.\d+)?", change, value, count=1)
        lines[at] = match[1] + match[2] + match[3] + value
    return "\n".join(lines).encode()


def in_keys(draw: random.Random, text: str) -> bytes:
    """One to three keys or headings renamed to another of the file, misspelled or given twice."""
    lines = text.splitlines()
    for _ in range(draw.randint(1, 3)):
        found = _assignments(lines)
        at, match = draw.choice(found)
        how = draw.randrange(4)
        key = match[2]
        if how == 0:
            key = draw.choice(found)[1][2]
        elif how == 1:
            key = key[:-1] or "x"
        elif how == 2:
            key = key + "." + draw.choice(found)[1][2]
        else:
            at = draw.choice([k for k, line in enumerate(lines) if line.startswith("[")])
            lines[at] = draw.choice([lines[at] + "]", lines[at][1:], "[" + lines[at] + "]", "[x]"])
            continue
        lines[at] = match[1] + key + match[3] + match[4]
    return "\n".join(lines).encode()


WAYS: dict[str, Callable[[random.Random, str], bytes]] = {
    "octets": in_octets,
    "lines": in_lines,
    "values": in_values,
    "keys": in_keys,
}
