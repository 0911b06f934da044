"""Verification of delivery signatures."""

import hashlib
import hmac
import threading
from email.message import Message

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.each import each
from workbench.base.errors import InvalidWebhook, UsageError
from workbench.client.webhooks.inbox import Inbox
from workbench.client.webhooks.verify import hmac_signature, sign
from workbench.client.webhooks.verify import sample as sample_event

OLD, NEW = "the-old-key", "the-new-key"


def test_signature_is_hex_hmac_of_the_raw_body() -> None:
    """The signature equals a known value, computed with the standard library."""
    assert sign(b"{}", "key") == hmac.new(b"key", b"{}", "sha256").hexdigest()
    assert sign(b"", "key") == "5d5d139563c95b5967b9bd9a8c9b233a9dedb45072794cd232dc1b74832607d0"


def test_the_headers_of_the_standard_library_are_read() -> None:
    """The headers of `http.server` are an `email.message.Message`, not a mapping. A repeated one is invalid."""
    sample, headers = sample_event("user.updated", OLD), Message()
    headers["SIGNATURE"] = sample.headers["Signature"]

    assert Inbox(keys=[OLD]).respond(headers, sample.body) == 204
    headers["Signature"] = sample.headers["Signature"]
    assert Inbox(keys=[OLD]).respond(headers, sample.body) == 401


@pytest.mark.parametrize("name", ["Signature", "signature", "SIGNATURE", "Secondary-Signature"])
def test_signed_is_verified(name: str) -> None:
    """A valid signature is accepted in either header, in any letter case of the header's name."""
    sample = sample_event("user.updated", OLD)
    receipt = Inbox(keys=[NEW, OLD]).receive({name: sample.headers["Signature"]}, sample.body)

    assert receipt.verified is True


def test_both_keys_during_rotation() -> None:
    """During a rotation an inbox with either key accepts a delivery signed with both."""
    sample = sample_event("user.updated", OLD)
    headers = {"Signature": sign(sample.body, OLD), "Secondary-Signature": sign(sample.body, NEW)}

    assert all(Inbox(keys=[key]).receive(headers, sample.body).verified for key in (OLD, NEW))


def test_deliveries_wait_while_a_rotated_key_is_fetched() -> None:
    """Deliveries that are signed with a new key are accepted while the first of them makes the inbox fetch it."""
    samples = [sample_event(kind, NEW) for kind in ("user.updated", "card.updated")]
    statuses: list[int] = []

    def deliver(number: int) -> None:
        statuses.append(inbox.respond(samples[number].headers, samples[number].body))

    second = threading.Thread(target=deliver, args=(1,))

    def vault() -> str:
        asked.append(1)
        if len(asked) == 1:
            return OLD
        second.start()
        second.join(0.3)  # times out: the thread waits for the key that this function returns
        return NEW

    asked: list[int] = []
    inbox = Inbox(keys=vault)
    deliver(0)
    second.join(20)

    assert statuses == [204, 204]
    assert len(asked) == 2


RIGHT = sign(b"{}", OLD)
WRONG = {
    "another key": sign(b"{}", "no-such-key"),
    "another body": sign(b"{ }", OLD),
    "cut": RIGHT[:-1],
    "longer": RIGHT + "0",
    "two in one": f"{RIGHT}, {RIGHT}",
    "prefix": f"sha256={RIGHT}",
    "version": f"v1a,{RIGHT}",
    "empty": "",
    "beyond ASCII": "é" * 64,
    "fullwidth digits": "".join(chr(ord(c) + 0xFEE0) for c in RIGHT),
}


def test_a_signature_in_capitals_is_right() -> None:
    """Hexadecimal digits are accepted in either case, in both headers."""
    sample = sample_event("user.updated", OLD)
    for name in ("Signature", "Secondary-Signature"):
        assert Inbox(keys=[OLD]).receive({name: sign(sample.body, OLD).upper()}, sample.body).verified


@each("value", WRONG.values(), ids=WRONG)
def test_wrong_signature_is_refused(value: str) -> None:
    """Any other value is refused with one fixed text, which contains neither key nor signature."""
    with pytest.raises(InvalidWebhook) as caught:
        Inbox(keys=[OLD]).receive({"Signature": value}, b"{}")

    assert str(caught.value) == "Missing or wrong signature."


@given(st.binary(max_size=80), st.binary(max_size=80))
def test_no_header_breaks_the_check(name: bytes, value: bytes) -> None:
    """Any header bytes are refused with InvalidWebhook."""
    with pytest.raises(InvalidWebhook):
        Inbox(keys=[OLD]).receive([(name, value), (b"Signature", value)], b"{}")


def test_signature_given_twice_is_wrong() -> None:
    """A repeated signature header is invalid."""
    assert hmac_signature({"signature": f"{RIGHT}, {RIGHT}"}, b"{}", [OLD.encode()]) is False


@pytest.mark.parametrize("keys", [(), []], ids=["not given", "empty, as when a variable is missing"])
def test_no_keys_is_an_error(keys: list[str]) -> None:
    """An inbox without keys would accept forged events, so it requires an explicit `accept_unsigned=True`."""
    with pytest.raises(ValueError, match=r"keys=\[…\].*accept_unsigned=True"):
        Inbox(keys=keys)


@each("key", [5, True, 0, None, 2.5, [107], "", " \n", b"", bytes(5), "\0"], ids=repr)
def test_unusable_keys_are_refused(key: object) -> None:
    """A number would become zero bytes, which sign like an empty key. A missing variable would become None."""
    body = sample_event("user.updated").body
    forged = hmac.new(b"", body, hashlib.sha256).hexdigest()

    with pytest.raises(UsageError, match=r"keys (must be text|is missing|is empty)"):
        Inbox(keys=[OLD, key])  # type: ignore[list-item]
    with pytest.raises(UsageError, match=r"keys (must be text|is missing|is empty)"):
        sign(body, key)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match=r"keys (must be text|is missing|is empty)"):
        hmac_signature({"signature": forged}, body, [key])  # type: ignore[list-item]


def test_unsigned_is_accepted_only_in_writing() -> None:
    """With `accept_unsigned=True` an inbox needs no keys, and marks its events as unverified."""
    sample = sample_event("user.updated")
    inbox = Inbox(accept_unsigned=True)

    assert inbox.receive(sample.headers, sample.body).verified is False
    assert inbox.respond({}, sample_event("card.updated").body) == 204
    assert [one.verified for one in inbox.stored()] == [False, False]


def test_forged_delivery_runs_no_handler() -> None:
    """A forged delivery, unsigned or with another key, is refused by both methods and reaches no handler."""
    inbox, seen = Inbox(keys=[OLD]), []
    inbox.on("*", name="seen")(seen.append)
    sample = sample_event("user.updated")
    for headers in ({}, {"Signature": sign(sample.body, "forged")}):
        assert inbox.respond(headers, sample.body) == 401
        with pytest.raises(InvalidWebhook):
            inbox.receive(headers, sample.body)

    assert (seen, len(inbox)) == ([], 0)


def test_unsigned_with_keys_is_refused_unless_asked() -> None:
    """With keys, an unsigned delivery is refused unless `accept_unsigned` is set, and is then marked."""
    sample = sample_event("user.updated")

    with pytest.raises(InvalidWebhook):
        Inbox(keys=[OLD]).receive({}, sample.body)

    assert Inbox(keys=[OLD], accept_unsigned=True).receive({}, sample.body).verified is False


def test_another_scheme() -> None:
    """The signature scheme can be replaced."""
    sample = sample_event("user.updated")
    inbox = Inbox(keys=["key"], scheme=lambda headers, body, keys: headers.get("x-token", "").encode() in keys)

    assert inbox.receive({"X-Token": "key"}, sample.body).verified is True


@pytest.mark.parametrize("key", ["", "  ", b""], ids=["text", "blank", "bytes"])
def test_empty_key_is_refused(key: str | bytes) -> None:
    """An empty key is refused, because anybody could sign with it."""
    with pytest.raises(ValueError, match="keys is empty"):
        Inbox(keys=[key])


def test_key_is_never_shown() -> None:
    """Neither the inbox nor its refusals show a key."""
    inbox = Inbox(keys=["canary-key"])
    with pytest.raises(InvalidWebhook) as caught:
        inbox.receive({"Signature": "0" * 64}, b"{}")

    assert "canary" not in f"{inbox!r} {vars(inbox)['_refusals']!r} {caught.value!r}"


@pytest.mark.parametrize(
    "body, signed, status",
    [(b"{", True, 204), (b"x" * 200, True, 413), (b"{}", False, 401), (None, True, 204)],
    ids=["unreadable", "too large", "unsigned", "stored"],
)
def test_the_status_to_respond_with(body: bytes | None, signed: bool, status: int) -> None:
    """`respond` returns the status that tells the sender whether to retry."""
    inbox = Inbox(keys=["k"], max_body=len(sample_event("user.updated").body) + 100 if body is None else 100)
    content = sample_event("user.updated").body if body is None else body
    headers = {"Signature": sign(content, "k")} if signed else {}

    assert inbox.respond(headers, content) == status


@each(
    "key",
    [
        "k3y\n",
        " k3y",
        "k3y ",
        "k 3y",
        '"k3y"',
        "'k3y'",
        "\ufeffk3y",
        "Bearer k3y",
        "<API_KEY>",
        "këy",
        b"k3y\n",
        b'"k3y"',
    ],
    ids=repr,
)
def test_a_key_that_was_copied_with_more_is_refused(key: str | bytes) -> None:
    """A key with copied extra characters is refused, because it would match no delivery."""
    for make in (lambda: Inbox(keys=[key]), lambda: Inbox(keys=key), lambda: sign(b"{}", key)):
        with pytest.raises(UsageError, match=r"^keys ") as caught:
            make()
        assert "k3y" not in str(caught.value)


def test_bytes_that_are_no_text_are_a_key() -> None:
    """Binary keys are accepted, even if the last byte would be a line end in text."""
    for key in (bytes(range(32)), b"\xff\n", b"\x80" * 16 + b"\n"):
        sample = sample_event("user.updated", key)

        assert Inbox(keys=[key]).receive(sample.headers, sample.body).verified


def test_a_function_fetches_the_key_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key function is called after an unknown signature, but only once in a while, so forgeries cause few calls."""
    fetched = []

    def fetch() -> str:
        fetched.append(1)
        return OLD if len(fetched) == 1 else NEW

    inbox = Inbox(keys=[fetch])
    old, new = sample_event("user.updated", OLD), sample_event("user.updated", NEW)
    assert inbox.receive(old.headers, old.body).verified
    assert inbox.receive(new.headers, new.body).verified
    for _ in range(20):
        with pytest.raises(InvalidWebhook):
            inbox.receive(sample_event("user.updated", "forged").headers, new.body)

    assert len(fetched) == 2
