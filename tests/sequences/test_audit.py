"""Sequence files are only data. All problems are reported together with step and line, and nothing is sent."""

import time
from pathlib import Path

import pytest

from tests.each import each
from workbench.base.errors import Problem
from workbench.runs.sequences import InvalidSequence, from_toml, read_toml, run
from workbench.runs.sequences.reading import problems
from workbench.sandbox import Sandbox

GOOD = """
name = "good"
[params.card_id]
type = "id"
default = { ref = "guide.cards.active" }

[[steps]]
name = "buy"
do = "simulate_authorization"
[steps.with]
card_id = { param = "card_id" }
amount = 1200
currency = "USD"
merchant_name = "Corner Grocery"
merchant_category_code = "5411"
"""


def wrong(text: str) -> list[Problem]:
    """Return the problems of a file's text."""
    try:
        return list(problems(from_toml(text), {}))
    except InvalidSequence as error:
        return list(error.problems)


def test_all_problems_are_reported_with_step_and_line() -> None:
    """The file has a wrong amount, unknown names, a reference to a later step and an undeclared parameter."""
    text = (
        GOOD.replace("amount = 1200", "amount = -3\ntip = 4")
        + """
[[steps]]
name = "back"
do = "simulate_refnd"

[[steps]]
name = "early"
do = "simulate_refund"
[steps.with]
transaction_id = { ref = "late.transaction_id" }
amount = { param = "nobody" }

[[steps]]
name = "late"
do = "settle"
[steps.with]
transaction_id = { ref = "buy.transactionid" }

[[steps]]
name = "self"
do = "settle"
[steps.with]
transaction_id = { ref = "self.transaction_id" }
"""
    )
    found = [str(problem) for problem in wrong(text)]

    assert any(one.startswith("buy.amount (line 7) must be at least 1") for one in found), found
    assert any("buy.tip (line 7) is not an argument" in one for one in found)
    assert any("back.do (line 18)" in one and "simulate_refnd" in one for one in found)
    assert any("early.with (line 22)" in one and "names a later step" in one for one in found)
    assert any("nobody, which is not declared" in one for one in found)
    assert any("late.with (line 29)" in one and "transactionid" in one for one in found)
    assert any("self.with (line 35)" in one and "the step itself" in one for one in found)


@each(
    "old, new, said",
    [
        ("amount = 1200", "amount = 12.5", "is a float"),
        ("amount = 1200", 'amount = "1200"', "must be a whole number"),
        ('type = "id"', 'type = "code"', "must be one of text, whole"),
        ('active" }', 'active", more = 1 }', "must be a UUID"),
        ('name = "buy"', 'name = "$(reboot)"', "must begin with a letter"),
        ('do = "simulate_authorization"', 'do = "sign_withdrawal"', "never a step of a script"),
        ('do = "simulate_authorization"', 'do = "__import__"', "is not an operation"),
        ('do = "simulate_authorization"', 'do = "reset"', "is not an operation"),
        ("amount = 1200", "amount = {ref = 3}", "must be followed by a path"),
        ("[[steps]]", "[[steps]]\nif = true", "is not known here"),
        ('name = "good"', "name = 3", "must be text"),
        ('do = "simulate_authorization"', 'do = "simulate_authorization"\nexpect = 4', "must be a table"),
        (
            'do = "simulate_authorization"',
            'do = "simulate_authorization"\nexpect = {money = {cash = 1}}',
            "must be one of available",
        ),
        (
            'do = "simulate_authorization"',
            'do = "simulate_authorization"\nexpect = {events = ["card.exploded"]}',
            "is not a kind",
        ),
        ("[params.card_id]", "[params.card_id]\nvalue = 1", "is not known here"),
        ("amount = 1200", "amount = 1200\nweird = nan", "is a float"),
    ],
)
def test_a_wrong_member_is_reported(old: str, new: str, said: str) -> None:
    """Each wrong member is reported as one problem."""
    text = GOOD.replace(old, new, 1)

    assert text != GOOD
    assert any(said in str(problem) for problem in wrong(text)), wrong(text)


@each(
    "text, said",
    [
        ("name = ", "at end of document"),
        ("[[steps]", "line 1"),
        ("a = " + "[" * 5000, "nested too deeply"),
        ("name = 'x'", "must contain at least one step"),
        ("steps = 3", "must be [[steps]] tables"),
        ("x" * 1_000_001, "is longer than"),
        ("[[steps]]\nname='a'\ndo='settle'\n[steps.with]\n" + ".".join(["a"] * 90) + "=1", "levels deep"),
        ("[[steps]]\nname='a'\ndo='settle'\n[steps.with]\n" + ".".join(["a"] * 4000) + "=1", "nested too deeply"),
        ("[[steps]]\nname='a'\ndo='settle'\n[steps.with]\namount=" + "9" * 5000, "too many digits"),
    ],
    ids=["cut", "bracket", "deep", "empty", "number", "long", "dotted", "very long dotted", "huge number"],
)
def test_a_file_that_is_not_a_sequence_is_refused(text: str, said: str) -> None:
    """The error is a problem of the sequence, not a traceback of the parser."""
    assert any(said in str(problem) for problem in wrong(text)), wrong(text)


def test_a_ten_megabyte_file_is_refused_unread(tmp_path: Path) -> None:
    """A file of 10 MB is refused because of its size."""
    file = tmp_path / "big.toml"
    file.write_bytes(b"#" * 10_000_000)

    with pytest.raises(InvalidSequence, match="more than 1,000,000 bytes"):
        read_toml(file)


def test_hostile_text_is_escaped() -> None:
    """Control characters of a file are escaped before they reach a terminal."""
    found = "\n".join(str(problem) for problem in wrong('name="x"\n[[steps]]\nname="a\\u001b[31m"\ndo="\\u202ex"'))

    assert "\x1b" not in found
    assert "\u202e" not in found
    assert "\\x1b" in found


def test_nothing_in_a_file_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates, variables and expressions stay text."""
    monkeypatch.setenv("MERCHANT", "expanded")
    text = GOOD.replace('"Corner Grocery"', "\"$MERCHANT {{ 7*7 }} ${HOME} __import__('os')\"")
    result = run(Sandbox(), from_toml(text))

    assert result.ok
    assert result["buy"].arguments["merchant_name"] == "$MERCHANT {{ 7*7 }} ${HOME} __import__('os')"


def test_parameters_are_checked_by_name_and_type() -> None:
    """All problems of parameters are reported together, and nothing is sent."""
    text = GOOD.replace('default = { ref = "guide.cards.active" }', "")
    with pytest.raises(InvalidSequence) as caught:
        run(Sandbox(), from_toml(text), amount=3)

    assert {str(problem).split()[0] for problem in caught.value.problems} == {"amount", "card_id"}


def test_a_sequence_with_problems_is_written_all_the_same() -> None:
    """A time of day is valid TOML but no step accepts it. The sequence can still be written."""
    text = GOOD.replace('"Corner Grocery"', "07:32:00")

    assert any("must be text, not a time" in str(problem) for problem in wrong(text))
    assert "merchant_name = 07:32:00" in from_toml(text).to_toml()


NAMES = {
    "key": "a" + ".a" * 100_000 + " = 1", "table": "[" + "a." * 100_000 + "a]", "spaces": "a" + " . a" * 100_000 + "=1",
    "quoted": "'a'" + ".'a'" * 100_000 + " = 1", "escapes": r'"a\""' + r'."\""' * 100_000 + " = 1",
    "long parts": ("a" * 300 + ".") * 3_000 + "a = 1", "after a comment": "# don't\na" + ".a" * 100_000 + " = 1",
    "after a text": "x = \'\'\'a\'\'\'\na" + ".a" * 100_000 + " = 1",
}  # fmt: skip


@pytest.mark.parametrize("text", NAMES.values(), ids=NAMES)
def test_a_name_of_many_parts_is_refused_at_once(text: str) -> None:
    """TOML nests one table per part, so parsing the name would take seconds."""
    begun = time.process_time()
    with pytest.raises(InvalidSequence, match="parts"):
        from_toml(text)
    assert time.process_time() - begun < 1


def test_no_step_can_be_called_as_the_guide_is() -> None:
    assert "is reserved" in str(wrong(GOOD.replace('name = "buy"', 'name = "guide"')))


def test_a_file_with_thousands_of_unknown_members_has_a_short_message() -> None:
    """The message lists a hundred problems and counts the others; `problems` has all."""
    with pytest.raises(InvalidSequence) as caught:
        from_toml('name = "x"\n' + "".join(f"k{number} = 1\n" for number in range(2_000)))

    assert len(str(caught.value).splitlines()) == 103
    assert "and 1,900 more" in str(caught.value)
    assert len(caught.value.problems) == 2_000
