"""Keys: files that only their owner can read, nobody let in who was not authorised."""

from __future__ import annotations

import os
import random
import stat
from pathlib import Path

import pytest

from orchestrator.errors import BadInput
from orchestrator.testbed import curve_keys


def test_a_secret_is_readable_by_its_owner_alone(tmp_path: Path):
    pair = curve_keys.make(tmp_path, "me")
    assert stat.S_IMODE((tmp_path / curve_keys.OWN).stat().st_mode) == 0o600
    assert curve_keys.own(tmp_path) == pair
    assert pair.secret.decode() not in repr(pair)
    assert pair.secret.decode() not in (tmp_path / curve_keys.PUBLIC).read_text()


def test_a_pair_is_never_overwritten(tmp_path: Path):
    curve_keys.make(tmp_path, "me")
    with pytest.raises(BadInput, match="exists already"):
        curve_keys.make(tmp_path, "me")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o644])
def test_a_secret_that_others_can_read_is_refused(tmp_path: Path, mode: int):
    curve_keys.make(tmp_path, "me")
    (tmp_path / curve_keys.OWN).chmod(mode)
    with pytest.raises(BadInput, match=f"mode {mode:04o}.*chmod 600"):
        curve_keys.own(tmp_path)


def test_nobody_is_let_in_until_authorised_and_after_being_revoked(tmp_path: Path):
    other = curve_keys.make(tmp_path / "other", "friend")
    mine = tmp_path / "mine"
    curve_keys.make(mine, "me")
    assert curve_keys.listed(mine) == {}
    assert curve_keys.authorise(mine, str(tmp_path / "other" / curve_keys.PUBLIC)) == "friend"
    assert curve_keys.listed(mine) == {other.public: "friend"}
    curve_keys.revoke(mine, "friend")
    assert curve_keys.listed(mine) == {}


def test_an_authorised_name_is_not_given_another_key(tmp_path: Path):
    curve_keys.make(tmp_path, "me")
    first, second = (curve_keys.make(tmp_path / n, "x").public for n in "ab")
    curve_keys.authorise(tmp_path, first, "x")
    with pytest.raises(BadInput, match="another key of that name"):
        curve_keys.authorise(tmp_path, second, "x")


@pytest.mark.parametrize("what", ["", "x.pub"])
def test_authorised_keys_that_others_can_write_are_refused(tmp_path: Path, what: str):
    curve_keys.make(tmp_path, "me")
    curve_keys.authorise(tmp_path, curve_keys.make(tmp_path / "x", "x").public, "x")
    (tmp_path / curve_keys.AUTHORISED / what).chmod(0o777 if not what else 0o666)
    with pytest.raises(BadInput, match="others can write"):
        curve_keys.listed(tmp_path)


@pytest.mark.parametrize("name", ["../up", "a/b", "", ".", "x" * 64, "a\nb", "a\0b"])
def test_a_name_cannot_lead_out_of_the_folder(tmp_path: Path, name: str):
    curve_keys.make(tmp_path, "me")
    public = curve_keys.make(tmp_path / "x", "x").public
    with pytest.raises(BadInput):
        curve_keys.authorise(tmp_path, public, name)
    with pytest.raises(BadInput):
        curve_keys.revoke(tmp_path, name)


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o707])
@pytest.mark.parametrize("depth", [0, 1, 2])
def test_a_folder_on_the_way_that_others_can_write_is_refused(tmp_path: Path, mode, depth):
    """Whoever may write there can put another folder of keys in the place of this one."""
    way = [tmp_path / "a", tmp_path / "a" / "b", tmp_path / "a" / "b" / "keys"]
    curve_keys.make(way[-1], "me")
    curve_keys.authorise(way[-1], curve_keys.make(tmp_path / "x", "x").public, "x")
    way[depth].chmod(mode)
    for ask in (curve_keys.listed, curve_keys.own):
        with pytest.raises(BadInput, match=f"others can write to it .mode {mode:04o}"):
            ask(way[-1])


def test_a_link_to_keys_in_a_folder_of_everybodys_is_looked_through(tmp_path: Path):
    (tmp_path / "open").mkdir()
    curve_keys.make(tmp_path / "open" / "keys", "me")
    (tmp_path / "open").chmod(0o777)
    (tmp_path / "link").symlink_to(tmp_path / "open" / "keys")
    with pytest.raises(BadInput, match="others can write to it"):
        curve_keys.own(tmp_path / "link")


@pytest.mark.root
@pytest.mark.parametrize("what", ["", "authorised", "authorised/x.pub", "own.key"])
def test_keys_of_another_user_are_refused(tmp_path: Path, what: str):
    folder = tmp_path / "keys"
    curve_keys.make(folder, "me")
    curve_keys.authorise(folder, curve_keys.make(tmp_path / "x", "x").public, "x")
    os.chown(folder / what, 12345, 12345)
    with pytest.raises(BadInput, match=r"belongs to another user .number 12345"):
        _ = curve_keys.own(folder), curve_keys.listed(folder)


def test_a_key_has_a_role(tmp_path: Path):
    curve_keys.make(tmp_path, "me")
    publics = {role: curve_keys.make(tmp_path / role, role).public for role in curve_keys.ROLES}
    for role, public in publics.items():
        curve_keys.authorise(tmp_path, public, role, role=role)
    found = curve_keys.read_callers(tmp_path).callers()
    for place, role in enumerate(curve_keys.ROLES):
        caller = found[publics[role]]
        assert [caller.may(other) for other in curve_keys.ROLES] == [n <= place for n in range(3)]
    old = curve_keys.make(tmp_path / "old", "old").public
    (tmp_path / "authorised" / "old.pub").write_text(f'name = "old"\npublic = "{old}"\n')
    assert curve_keys.read_callers(tmp_path).callers()[old].role == curve_keys.RUN, (
        "as before there were roles"
    )
    with pytest.raises(BadInput, match="has the role watch; revoke it first"):
        curve_keys.authorise(tmp_path, publics["watch"], "watch", role="administer")


@pytest.mark.parametrize("role", ["root", "", "RUN", "3"])
def test_an_unknown_role_is_refused(tmp_path: Path, role: str):
    pair = curve_keys.make(tmp_path, "me")
    with pytest.raises(BadInput, match="one of watch, run, administer"):
        curve_keys.authorise(tmp_path, pair.public, "x", role=role)
    path = tmp_path / "authorised" / "x.pub"
    path.write_text(f'name = "x"\npublic = "{pair.public}"\nrole = "{role}"\n')
    with pytest.raises(BadInput, match="one of watch, run, administer"):
        curve_keys.listed(tmp_path)


def test_a_secret_key_is_not_taken_for_one_to_let_in(tmp_path: Path):
    curve_keys.make(tmp_path / "other", "friend")
    with pytest.raises(BadInput, match=f"secret key.*hand on {curve_keys.PUBLIC}"):
        curve_keys.authorise(tmp_path / "mine", str(tmp_path / "other" / curve_keys.OWN))
    assert not (tmp_path / "mine").exists()


def test_a_key_has_one_entry_and_a_revocation_takes_all(tmp_path: Path):
    """Entries of a folder of an earlier version: the role that may least counts until then."""
    curve_keys.make(tmp_path, "me")
    public = curve_keys.make(tmp_path / "other", "other").public
    curve_keys.authorise(tmp_path, public, "first", role=curve_keys.WATCH)
    with pytest.raises(BadInput, match=r"first\.pub: holds this key already.* revoke first first"):
        curve_keys.authorise(tmp_path, public, "second", role=curve_keys.ADMINISTER)
    text = (tmp_path / "authorised" / "first.pub").read_text()
    for name, role in (("a", curve_keys.ADMINISTER), ("z", curve_keys.RUN)):
        file = tmp_path / "authorised" / f"{name}.pub"
        file.write_text(text.replace("watch", role))
    (caller,) = curve_keys.read_callers(tmp_path).callers().values()
    assert caller.role == curve_keys.WATCH
    assert curve_keys.revoke(tmp_path, "z") == ["a", "first", "z"]
    assert curve_keys.listed(tmp_path) == {}


@pytest.mark.root
@pytest.mark.parametrize("seed", range(8))
def test_a_link_through_the_folder_of_another_user_is_refused(tmp_path: Path, seed: int):
    """At whatever step of the way it lies, and wherever it ends."""
    draw = random.Random(seed)
    curve_keys.make(tmp_path / "keys", "me")
    own = curve_keys.make(tmp_path / "other", "other").public
    curve_keys.authorise(tmp_path / "keys", own, "real")
    real = tmp_path / "real.pub"
    (tmp_path / "keys" / "authorised" / "real.pub").rename(real)
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    steps = draw.randint(1, 4)
    bad = draw.randrange(steps)
    target = real
    for step in range(steps):
        link = (theirs if step == bad else tmp_path) / f"{step}.pub"
        link.symlink_to(target if draw.random() < 0.5 else os.path.relpath(target, link.parent))
        target = link
    (tmp_path / "keys" / "authorised" / "friend.pub").symlink_to(target)
    assert list(curve_keys.listed(tmp_path / "keys").values()) == ["real"]
    os.chown(theirs, 12345, 12345)
    with pytest.raises(BadInput, match="theirs: belongs to another user"):
        curve_keys.listed(tmp_path / "keys")
