"""Errors of controls have the control's Python name, the problem and the nearest known name."""

from collections.abc import Iterator
from typing import Any

import pytest

import workbench as wb
from tests.client.doubles import PURCHASE


@pytest.fixture(params=["embedded", "served"])
def api(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Yield a session on an embedded sandbox or a served one."""
    with wb.Sandbox() as sandbox:
        if request.param == "embedded":
            with wb.connect() as session:
                yield session
        else:
            with sandbox.serve() as url, wb.connect(url) as session:
                yield session


def test_a_record_in_place_of_its_id_is_explained(api: Any) -> None:
    """A record in place of its id is refused before it is serialized, on embedded and served sandboxes."""
    card = api.sandbox.guide()["cards"]["active"][0]
    made = api.simulate_authorization(**{**PURCHASE, "card_id": card})
    with pytest.raises(
        wb.errors.UsageError, match=r"settle: transaction_id must be text, not the record; write its \.transaction_id"
    ):
        api.sandbox.settle(made)


def test_controls_in_groups_are_named_as_they_are_called(api: Any) -> None:
    """An error names `cards.lock`, not `lock_card`."""
    with pytest.raises(wb.errors.ApiError, match=r"^cards\.lock: Card not found"):
        api.sandbox.cards.lock("00000000-0000-4000-8000-000000000009")
    with pytest.raises(wb.errors.UsageError, match=r"^create\.user: "):
        api.sandbox.create.user(status=7)


def test_a_misspelled_control_names_the_nearest(api: Any) -> None:
    """A misspelled name of a control, group or clock method gets the nearest name."""
    for wrong, right in (("setle", "settle"), ("reveiw", "review"), ("create_user", "create.user")):
        with pytest.raises(AttributeError, match=rf"no control '{wrong}'; did you mean {right}\?"):
            getattr(api.sandbox, wrong)


def test_a_sandbox_is_closed_by_its_block() -> None:
    """A sandbox can be used in a `with` block, as a session can."""
    with wb.Sandbox(seed=3) as sandbox:
        assert sandbox.seed == 3
