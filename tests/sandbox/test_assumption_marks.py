"""Every assumption is marked, in the code by its id and in responses by a header."""

import re
from pathlib import Path

from tests.sandbox.driver import Api
from tests.sandbox.test_sameness import story
from workbench.sandbox import Sandbox, embedded
from workbench.service.interface.assumptions import BEHAVIORS, assumptions

IDS = {one.id for one in assumptions()}
CODE = {path.name: path.read_text() for path in Path(embedded.__file__).parent.glob("*.py")}


def test_every_mark_of_an_answer_is_a_listed_assumption():
    """Every id in the header is listed in assumptions()."""
    for behavior in ("documented", "observed"):
        sandbox = Sandbox(behavior={"behavior": behavior, "refund_amount_omitted": "full"})
        story(sandbox)
        api = Api(sandbox)
        api.authorize(declineReason="card_locked", surprise=1)
        api.authorize("00000000-0000-4000-8000-000000000000")
        api.authorize(currency="EUR")
        api.authorize(amount=10**9)
        api.sign(amount="99")
        api.sign(amount="9" * 30)
        api.reverse(api.settled())
        api.pay_to(userId="00000000-0000-4000-8000-000000000000")
        api.pay_to(companyId=api.guide["companies"][0]["id"])
        api.apply(externalId="a"), api.apply(externalId="a")
        marks = {mark for one in sandbox.requests() for mark in one.assumptions}
        assert len(marks) > 15
        assert set() == marks - IDS


def test_what_the_document_gives_is_not_marked(api):
    """A documented authorization, list of contracts and rejected key have no mark."""
    assert set() == api.authorize().assumed
    assert set() == api.call("GET", "/issuing/tenants/contracts").assumed
    assert set() == Api(api.sandbox, None).call("GET", "/issuing/tenants/contracts").assumed


def test_marks_in_the_code_name_behaviors():
    """`assumed: id` in a comment or docstring is the id of a behavior, or states a reason."""
    found = {
        name
        for text in CODE.values()
        for mark in re.findall(r"assumed: ([a-z_, ]+)$", text, re.MULTILINE)
        for name in mark.split(", ")
        if "_" in name
    }

    assert len(found) > 12
    assert set() == found - set(BEHAVIORS)
