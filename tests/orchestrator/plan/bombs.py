"""Plans of 40 to 400 KB that ask for gigabytes: each has to be refused before it is expanded."""

from __future__ import annotations

HEAD = 'name = "b"\nduration = "1ms"\n[nodes.a]\nkind = "nic"\n'
MANY = 20_000


def _listed(text: str, count: int) -> str:
    return "[" + ", ".join([f'"{text}"'] * count) + "]"


def _pairing(how: str, to: str) -> str:
    ends = f"from = {_listed('a', MANY)}\nto = {to}"
    return HEAD + f'[traffic.t]\nplugin = "cbr"\npairing = "{how}"\n{ends}\n'


def _chain(count: int) -> str:
    lines = [f't{at} = {{ like = "t{at + 1}" }}' for at in range(count)]
    return "[templates]\n" + "\n".join(lines) + f'\nt{count} = {{ kind = "nic" }}\n'


def _doubling(count: int) -> str:
    lines = [f'l{at} = ["{{l{at + 1}}}x", "{{l{at + 1}}}"]' for at in range(count)]
    return "[lists]\n" + "\n".join(lines) + f'\nl{count} = ["a", "b"]\n'


BOMBS = {
    "ranges in a group": f"{HEAD}[groups]\ng = {_listed('h{1..4096}', MANY)}\n",
    "ranges in a list": HEAD + '[groups]\ng = ["h{' + ",".join(["1..4096"] * MANY) + '}"]\n',
    "ranges in a name": HEAD + '[nodes."' + "{1..9}" * 5000 + '"]\nkind = "nic"\n',
    "ranges in ports": f"{HEAD}[capture]\nports = {_listed('h{1..4096}.s{1..4096}', 2000)}\n",
    "ranges in steps": HEAD + '[[timeline]]\nat = "1us"\nstart = "t{1..4096}"\n' * 3000,
    "ranges in an expectation": HEAD
    + '[[expect]]\nmetric = "{1..4096}"\nof = "{1..4096}"\nphase = "{1..4096}"\n',
    "ranged tables": HEAD
    + "".join(f'[nodes."n{at}-{{1..4096}}"]\nkind = "nic"\n' for at in range(1500)),
    "all with all": _pairing("all", _listed("a", MANY)),
    "a permutation": _pairing("permutation", _listed("a", MANY)),
    "random pairs": _pairing("random", '["b", ' + _listed("a", MANY)[1:]),
    "a dotted key": HEAD + ".".join(["a"] * MANY) + " = 1\n",
    "a dotted key in quotes": HEAD + ".".join(['"="'] * MANY) + " = 1\n",
    "a dotted header": HEAD + "[" + ".".join(["a"] * MANY) + "]\n",
    "a dotted key in a table": HEAD + "x = { " + ".".join(["a"] * MANY) + " = 1 }\n",
    "lists of lists": HEAD + _doubling(15) + '[nodes."{l0}"]\nkind = "nic"\n',
    "a list times a list": HEAD
    + '[lists]\na = ["x{1..4096}"]\nb = ["{a}{1..4096}"]\n[nodes."{b}"]\nkind = "nic"\n',
    "templates of templates": HEAD + _chain(5000) + '[nodes.x]\nlike = "t0"\n',
    "a wide template": HEAD
    + '[templates.t]\nkind = "nic"\n'
    + "\n".join(f'k{at} = "{at}"' for at in range(5000))
    + '\n[nodes."x{1..4096}"]\nlike = "t"\n',
    "a long text": HEAD + '[nodes."x{1..4096}"]\nkind = "nic"\ntarget = "' + "{}" * 100_000 + '"\n',
    "a wide fabric": 'fabric = { kind = "leaf-spine", leaves = 1024, spines = 1024, hosts = 1024, '
    + 'rate = "1Gb/s" }\n'
    + HEAD,
    "a fabric for each of many words": "lists.net = ["
    + ", ".join(f'"{at}"' for at in range(4000))
    + "]\n"
    + 'fabric = { kind = "fat-tree", k = 4, rate = "1Gb/s", prefix = "{net}-{net}-" }\n'
    + HEAD,
    "nested lists": HEAD + "x = " + "[" * MANY + "]" * MANY + "\n",
    "braces": HEAD + '[nodes."' + "{" * 100_000 + '"]\nkind = "nic"\n',
    "commas": HEAD + '[nodes."{' + "," * 200_000 + '}"]\nkind = "nic"\n',
}
