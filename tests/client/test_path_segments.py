"""No argument leaves its path segment, in every operation and in an operation whose id has no rule."""

from typing import Any

import attrs
import httpx
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.client.doubles import CARD, KEY, URL
from workbench.base.schema.fields import about, record
from workbench.base.schema.walk import members
from workbench.client.calls.request_checks import path_problems
from workbench.service.interface.convert import placeholders
from workbench.service.interface.table import OPERATIONS

ODD = [
    "..", ".", "...", "", " ", "a/b", "../users/x", "..%2fusers", "%2e%2e", "a?b", "a#b", "a\\b", "a;b", "a%00b", "a\x00b", "a\nb", "\u202ea", "é",
    "a" * 101, "a" * 100_000, "//x", "a b", "\ud800", "．．", "a%3fb", "|", "\"", "<a>", "{x}", "^", "`", "\x7f", "\t", "a/", "/a", "a\r\nHost: x",
    "NaN", "nan", "None", "null", "NaT", "undefined", "N/A",
]  # fmt: skip
WITH_PATH = {name: row for name, row in OPERATIONS.items() if placeholders(row.path)}


@record
class UpdateThing:
    """A future operation whose ids have no rules."""

    thing_id: str = about("Thing")
    part_id: str = about("Part of it")


NEW: Any = attrs.evolve(OPERATIONS["update_dispute"], path="/things/{thingId}/parts/{partId}", takes=UpdateThing)


def sent_by(name: str, member: str, value: str, *, check: bool) -> list[bytes]:
    """Return the request targets that were sent for one unusual argument."""
    sent: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request.url.raw_path)
        return httpx.Response(404, json={"message": "no"})

    api = wb.Client(base_url=URL, api_key=KEY, transport=httpx.MockTransport(answer), check=check, journal=False)
    allowed = api.allowing(unusual_text=True, masked_value=True, unverified_address=True, partial_address=True)
    others = {
        one.name: CARD for one in members(WITH_PATH[name].request) if one.wire in placeholders(WITH_PATH[name].path)
    }
    more = {"amount": 1} if name == "simulate_refund" else {"new_amount": 1} if name == "simulate_reversal" else {}
    with pytest.raises(wb.errors.WorkbenchError):
        getattr(allowed, name)(**{**others, **more, member: value})
    return sent


CASES = [
    (name, one.name) for name, row in WITH_PATH.items() for one in members(row.request) if one.wire in placeholders(row.path)
]  # fmt: skip


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("name, member", CASES)
def test_an_unusual_id_is_not_sent(name: str, member: str, check: bool) -> None:
    assert [value for value in ODD if sent_by(name, member, value, check=check)] == []


@pytest.mark.slow
@given(value=st.text(max_size=120) | st.text(alphabet=".%/\\2eEfF5c?#;a", max_size=8))
@settings(max_examples=300, deadline=None)
@example(value="..")
def test_a_new_operation_keeps_ids_in_their_segment(value: str) -> None:
    """An accepted id is one path segment, before and after decoding."""
    request = UpdateThing(thing_id=value, part_id="x")
    if not path_problems(NEW, request):
        target = NEW.target({"thingId": value, "partId": "x"}, {})
        assert httpx.URL(URL + target).path == f"/v1/things/{value}/parts/x"
        assert target.count("/") == 4
        assert 1 <= len(value) <= 100
    else:
        assert [problem.path for problem in path_problems(NEW, request)] == ["thingId"]


def test_unusual_ids_of_a_new_operation() -> None:
    assert [value for value in ODD if not path_problems(NEW, UpdateThing(thing_id=value, part_id="x"))] == []
    assert [
        value
        for value in ("dis_1", CARD, "a.b", "0x12", "A:1")
        if path_problems(NEW, UpdateThing(thing_id=value, part_id="x"))
    ] == []
