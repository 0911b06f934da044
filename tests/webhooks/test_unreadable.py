"""Signed deliveries that cannot be read are stored, listed, counted and acknowledged, and read by a later version."""

import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.each import each
from tests.webhooks.test_reading import BROKEN, envelope
from workbench.base.errors import InvalidWebhook
from workbench.client.webhooks import store, verify
from workbench.client.webhooks.inbox import Inbox
from workbench.client.webhooks.verify import read_delivery, sign

KEY = "a-signing-key"
HALF = b'{"id":"\\ud800","resource":"user","action":"updated"}'
UNREADABLE = {name: body for name, body in BROKEN.items() if name != "larger than a mebibyte"}


def signed(body: bytes) -> tuple[dict[str, str], bytes]:
    return {"Signature": sign(body, KEY)}, body


@pytest.mark.parametrize("body", UNREADABLE.values(), ids=UNREADABLE)
@pytest.mark.parametrize("stored", [False, True], ids=["memory", "file"])
def test_signed_and_unreadable_is_kept(body: bytes, stored: bool, tmp_path: Path) -> None:
    """A signed unreadable delivery is acknowledged. Its bytes, reason and count survive a restart."""
    path = tmp_path / "inbox.db" if stored else None
    inbox = Inbox(path, keys=[KEY])
    statuses = [inbox.respond(*signed(body)) for _ in range(3)]
    receipt = inbox.receive(*signed(body))
    if stored:
        inbox.close()
        inbox = Inbox(path, keys=[KEY])
    (kept,) = inbox.unreadable()

    assert statuses == [204, 204, 204]
    assert (receipt.event, receipt.verified, receipt.duplicate) == (None, True, True)
    assert (kept.raw, kept.times) == (body, 4)
    assert kept.reason == receipt.unreadable
    assert (len(inbox), inbox.refusals) == (0, ())
    inbox.close()


@each("body", UNREADABLE.values(), ids=UNREADABLE)
@each("headers", [{}, {"Signature": "0" * 64}], ids=["unsigned", "forged"])
def test_forged_and_unreadable_is_not_kept(body: bytes, headers: dict[str, str]) -> None:
    """Forged deliveries do not fill the file, and an inbox for unsigned deliveries does not store unreadable ones."""
    strict, loose = Inbox(keys=[KEY]), Inbox(accept_unsigned=True)

    assert strict.respond(headers, body) == 401
    assert loose.respond({}, body) == 400
    assert strict.unreadable() == loose.unreadable() == []


CUT = envelope(body={"id": "u-1", "firstName": "Caf\u00e9 \ud83c"})


@each(
    "path, body",
    [
        ("body.firstName", CUT),
        ("id", HALF),
        ("body.id", envelope(body={"id": "\udfff"})),
        ("version", envelope(version="\ud800")),
        ("brandNew", envelope(brandNew="\ud83cx")),
        ("body.brandNew", envelope(body={"id": "u-1", "brandNew": "\ud83c"})),
        ("body.applicationStatus", envelope(body={"id": "u-1", "applicationStatus": "\ud83c"})),
        ("eventReceivedAt", envelope(eventReceivedAt="\ud83c")),
        (
            "body.spend.merchantName",
            envelope(resource="transaction", body={"id": "t", "spend": {"merchantName": "\ud83c"}}),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_text_cut_inside_a_character_is_read_and_marked(path: str, body: bytes) -> None:
    """A text truncated inside a character, as in JavaScript, is read with U+FFFD and a mark."""
    inbox = Inbox(keys=[KEY])
    receipt = inbox.receive(*signed(body))
    event: Any = receipt.event
    inner = event.body if not isinstance(event.body, dict) else None
    nested = getattr(inner, "spend", None)
    marks = [*event.marks]
    marks += [attr_in("body", mark) for mark in getattr(inner, "marks", ())]
    marks += [attr_in("body.spend", mark) for mark in getattr(nested, "marks", ())]

    assert [(mark_path, message) for mark_path, message in map(split, marks) if "cut inside" in message] != []
    assert path in {mark_path for mark_path, _ in map(split, marks)}
    assert [body] == [stored.raw for stored in inbox.stored()]
    json.dumps(inbox.events()[0].body, default=str, ensure_ascii=False).encode()


def attr_in(place: str, mark: Any) -> Any:
    return type(mark)(f"{place}.{mark.path}", mark.rule, mark.message)


def split(mark: Any) -> tuple[str, str]:
    return mark.path, mark.message


def test_a_later_version_reads_them_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A later version that can read a stored delivery turns it into an event once, and handlers run on it."""

    def older(body: bytes, *rest: Any) -> Any:
        if b"Caf" in body:
            raise InvalidWebhook("not yet")
        return read_delivery(body, *rest)

    path, handled = tmp_path / "inbox.db", list[str]()
    with monkeypatch.context() as patch:
        patch.setattr("workbench.client.webhooks.inbox.read_delivery", older)
        patch.setattr(store, "read_delivery", older)
        with Inbox(path, keys=[KEY]) as inbox:
            inbox.receive(*signed(CUT))
            inbox.receive(*signed(b"{"))
            assert len(inbox.unreadable()) == 2
    with Inbox(path, keys=[KEY]) as inbox:
        inbox.on("user.updated", name="counts")(lambda event: handled.append(event.id))
        inbox.run_handlers()

        assert [row.raw for row in inbox.unreadable()] == [b"{"]
        assert [row.raw for row in inbox.stored()] == [CUT]
        assert handled == ["e-1"]
    assert verify.MAX_BODY == 2**20


def test_unreadable_is_purged(tmp_path: Path) -> None:
    """A purge by id removes an unreadable delivery permanently, and a redelivery does not restore it."""
    body = b'{"id": "e-1", "id": "person-4711"}'
    with Inbox(tmp_path / "inbox.db", keys=[KEY]) as inbox:
        inbox.receive(*signed(body))
        assert inbox.purge("person-4711") == 1
        inbox.receive(*signed(body))

        assert inbox.unreadable() == []
    assert b"person-4711" not in (tmp_path / "inbox.db").read_bytes()


def test_health_and_frames_count_them() -> None:
    """Health and event frames count unreadable deliveries."""
    with wb.connect(seed=7) as api:
        key = api.sandbox.full_key
        api.inbox.receive({"Signature": sign(b"{", key)}, b"{")
        (trouble,) = [one for one in api.health() if one.kind == "unreadable delivery"]
        frame = wb.to_frame(api.inbox)

        assert trouble.count == 1
        assert any("1 signed deliveries could not be read" in note for note in frame.attrs["notes"])
