"""Keys: files that only their owner can read, nobody let in who was not authorised."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.testbed import keys


def test_a_secret_is_readable_by_its_owner_alone(tmp_path: Path):
    pair = keys.make(tmp_path, "me")
    assert stat.S_IMODE((tmp_path / keys.OWN).stat().st_mode) == 0o600
    assert keys.own(tmp_path) == pair
    assert pair.secret.decode() not in repr(pair)
    assert pair.secret.decode() not in (tmp_path / keys.PUBLIC).read_text()


def test_a_pair_is_never_overwritten(tmp_path: Path):
    keys.make(tmp_path, "me")
    with pytest.raises(BadInput, match="exists already"):
        keys.make(tmp_path, "me")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, mode: int):
    keys.make(tmp_path, "me")
    (tmp_path / keys.OWN).chmod(mode)
    with pytest.raises(BadInput, match=f"mode {mode:04o}.*chmod 600"):
        keys.own(tmp_path)


def test_nobody_is_let_in_until_authorised_and_after_being_revoked(tmp_path: Path):
    other = keys.make(tmp_path / "other", "friend")
    mine = tmp_path / "mine"
    keys.make(mine, "me")
    assert keys.listed(mine) == {}
    assert keys.authorise(mine, str(tmp_path / "other" / keys.PUBLIC)) == "friend"
    assert keys.listed(mine) == {other.public: "friend"}
    keys.revoke(mine, "friend")
    assert keys.listed(mine) == {}


def test_an_authorised_name_is_not_given_another_key(tmp_path: Path):
    keys.make(tmp_path, "me")
    first, second = (keys.make(tmp_path / n, "x").public for n in "ab")
    keys.authorise(tmp_path, first, "x")
    with pytest.raises(BadInput, match="another key of that name"):
        keys.authorise(tmp_path, second, "x")


@pytest.mark.parametrize("what", ["", "x.pub"])
def test_authorised_keys_that_others_can_write_are_refused(tmp_path: Path, what: str):
    keys.make(tmp_path, "me")
    keys.authorise(tmp_path, keys.make(tmp_path / "x", "x").public, "x")
    (tmp_path / keys.AUTHORISED / what).chmod(0o777 if not what else 0o666)
    with pytest.raises(BadInput, match="others can write"):
        keys.listed(tmp_path)


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".", "x" * 64, "a\nb", "a\0b"])
def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path, name: str):
    keys.make(tmp_path, "me")
    public = keys.make(tmp_path / "x", "x").public
    with pytest.raises(BadInput):
        keys.authorise(tmp_path, public, name)
    with pytest.raises(BadInput):
        keys.revoke(tmp_path, name)
