"""JSON in the admin is read as lines."""

from accounts.model_admin.json_values import in_lines


def test_values_stand_under_their_paths_and_are_escaped() -> None:
    value = {"buyer": {"name": "<b>", "kpp": ""}, "lines": [{"tokens": 5}, {"tokens": 7}]}

    assert in_lines(value) == (
        "<div>buyer · name: &lt;b&gt;</div>"
        "<div>lines · 1 · tokens: 5</div><div>lines · 2 · tokens: 7</div>"
    )


def test_nothing_is_a_dash() -> None:
    assert in_lines({}) == in_lines([]) == "—"
