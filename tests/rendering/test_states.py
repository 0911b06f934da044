"""State diagrams: every transition is drawn, the present state is marked, and unknown states are not shown."""

from itertools import combinations
from xml.etree import ElementTree as ET

import pytest

from workbench.base.schema.walk import build
from workbench.service import rendering
from workbench.service.interface import table, transitions
from workbench.service.rendering.design import word
from workbench.service.rendering.markup import state_diagram

TABLES = {
    "transaction": transitions.TRANSACTION, "application": transitions.APPLICATION, "card": transitions.CARD,
    "dispute": transitions.DISPUTE,
}  # fmt: skip
SVG = "{http://www.w3.org/2000/svg}"
kinds = pytest.mark.parametrize("kind", TABLES)


def drawn(kind, state=None):
    """Return the parsed SVG of a diagram."""
    return ET.fromstring(state_diagram(kind, state).standalone())


@kinds
def test_every_state_and_every_action_of_the_table_is_drawn(kind):
    texts = " ".join(one.text or "" for one in drawn(kind).iter(f"{SVG}text"))
    states = {one for (start, _), step in TABLES[kind].items() for one in (start, step.to) if one}

    assert [one for one in (*states, *(action for _, action in TABLES[kind])) if word(str(one)) not in texts] == []


@kinds
def test_each_arrow_is_a_transition_and_is_said_in_words(kind):
    arrows = {(start, step.to) for (start, _), step in TABLES[kind].items() if step.to not in (None, start)}
    root = drawn(kind)

    assert len([one for one in root.iter(f"{SVG}path") if one.get("fill") == "none"]) == len(arrows)
    for start, to in arrows:
        assert f"{word(start) or 'start'} to {word(to)} (" in root.get("aria-label")


@kinds
def test_boxes_and_labels_do_not_overlap(kind):
    boxes = [
        tuple(float(one.get(name)) for name in ("x", "y", "width", "height")) for one in drawn(kind).iter(f"{SVG}rect")
    ]
    root = drawn(kind)
    for (x, y, w, h), (left, top, width, height) in combinations(boxes, 2):
        assert x + w <= left or left + width <= x or y + h <= top or top + height <= y
    assert all(x + w <= float(root.get("width")) and y + h <= float(root.get("height")) for x, y, w, h in boxes)


@pytest.mark.parametrize(
    "kind, state, shown",
    [
        ("transaction", "completed", "settled"),
        ("card", "locked", "locked"),
        ("application", "manualReview", "manual review"),
    ],
)
def test_the_present_state_is_marked_once_and_said(kind, state, shown):
    root = drawn(kind, state)
    (bold,) = [one.text for one in root.iter(f"{SVG}text") if one.get("font-weight") == "bold"]

    assert bold.endswith(shown)
    assert len([one for one in root.iter(f"{SVG}rect") if one.get("class") == "wb-present"]) == 1
    assert root.get("aria-label").endswith(f"Present state: {shown}.")


@pytest.mark.parametrize("state", [None, "", '"/><script>', "somethingNew"])
def test_an_unknown_state_marks_nothing_and_is_not_shown(state):
    assert state_diagram("dispute", state) == state_diagram("dispute")


def test_the_card_of_a_record_shows_its_states_and_a_list_does_not():
    record = build(table.Operations.simulate_refund.answer, {"transaction_id": "x", "status": "settled"})

    assert state_diagram("transaction", "settled") in rendering.html(record)
    assert "<svg" not in rendering.html([record, record])
