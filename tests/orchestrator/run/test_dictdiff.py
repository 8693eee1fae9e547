"""Dotted keys of nested tables, and those in which two tables differ."""

from __future__ import annotations

from orchestrator.run.dictdiff import differing_keys, flatten


def test_leaves_of_tables_and_lists_are_named_in_their_order() -> None:
    value = {"a": {"b": 1, "c": [2, {"d": 3}, []]}, "e": None, 7: "text", "f": {}}
    assert list(flatten(value).items()) == [
        ("a.b", 1),
        ("a.c[0]", 2),
        ("a.c[1].d", 3),
        ("e", None),
        ("7", "text"),
    ]


def test_a_leaf_alone_has_no_name_and_a_list_alone_only_places() -> None:
    assert flatten(5) == {"": 5}
    assert flatten([1, [2, 3]]) == {"[0]": 1, "[1][0]": 2, "[1][1]": 3}
    assert flatten({}) == flatten([]) == {}


def test_depth_is_not_limited_by_the_stack() -> None:
    deep: object = 1
    for _ in range(5_000):
        deep = {"a": [deep]}
    ((key, value),) = flatten(deep).items()
    assert (key, value) == (".".join(["a[0]"] * 5_000), 1)


def test_keys_that_one_table_lacks_differ_whatever_their_value() -> None:
    one = {"same": 1, "other": 2, "none": None, "gone": 3}
    other = {"new": 4, "same": 1, "other": 2.5}
    assert differing_keys(one, other) == ["other", "none", "gone", "new"]
    assert differing_keys(other, one) == ["new", "other", "none", "gone"]
    assert differing_keys(one, dict(one)) == []
    assert differing_keys({"a": None}, {}) == ["a"]
    assert differing_keys({}, {"a": None}) == ["a"]
