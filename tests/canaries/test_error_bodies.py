"""Private values that a service repeats in an error, in whatever form, are never stored, logged or shown."""

import html
import json
import logging
import re
import stat
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any
from urllib.parse import quote

import httpx
import pytest

import workbench as wb
from workbench import testing
from workbench.base.schema.fields import OPEN
from workbench.base.schema.walk import build, values
from workbench.service.interface.table import OPERATIONS

USER = "9b26cf74-10af-42ce-bea3-5d52ed4a93c6"
ADDRESS = {"region": "Qregion{n}", "country_code": "US"}
REQUESTS: dict[str, dict[str, Any]] = {
    "create_user_application": {
        "first_name": "Adalinde", "last_name": "Quesnelle-Ort", "birth_date": "1931-07-26", "national_id": "900731946",
        "country_of_issue": "US", "email": "adalinde.q@example.com", "phone_country_code": "1", "phone_number": "2025550188",
        "address": {"line1": "731 Brixmoor Lane", "line2": "Flatlet 9137", "city": "Quimbledon", "region": "Vexford", "postal_code": "99137",
                    "country_code": "US"},
        "ip_address": "203.0.113.179", "occupation": "Horologiste", "annual_salary": "917365284", "account_purpose": "Quillwork purchases",
        "expected_monthly_volume": "739158264", "solana_address": "9xQeWvG816bUx9EPjHmaT23yvVM2ZWbrrpZb9PusVFin",
    },
    "update_user": {
        "user_id": USER, "first_name": "José-Ñandú", "last_name": "Übelhör", "email": "zuletzt+neu@example.org", "phone_number": "2025550177",
        "phone_country_code": "1", "wallet_address": "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
        "address": {"line1": "917 Yarrowgate", "city": "Ninfadora", "region": "Oxmantown", "postal_code": "88613", "country_code": "US"},
    },
    "update_ubo": {
        "company_id": USER, "ubo_id": USER, "first_name": "Bartholmew", "last_name": "Krzyzanowska", "birth_date": "1942-11-03",
        "national_id": "900613728", "country_of_issue": "US", "email": "krz.b@example.net",
        "address": {"line1": "6137 Pellucid Row", "city": "Wimbleforth", "region": "Tarnshire", "postal_code": "77492", "country_code": "US"},
    },
    "create_payment_account": {
        "type": "externalFiatAccount", "nickname": "Rentaccount", "user_id": USER,
        "external_fiat_account": {
            "beneficiary_type": "individual", "beneficiary_first_name": "Gwendolina", "beneficiary_last_name": "Ostrowsky", "currency": "usd",
            "third_party": False, "bank_name": "Example Bank", "account_number": "000917364285", "routing_number": "011000015",
            "beneficiary_address": {"address_line1": "4173 Umberfield", "city": "Lindisgate", "region": "Marchwood", "postal_code": "66291",
                                    "country_code": "US"},
            "bank_address": {"address_line1": "1 Bank St", "city": "Banktown", "region": "NY", "postal_code": "10001", "country_code": "US"},
        },
    },
}  # fmt: skip
Planted = Mapping[str, str]
_SAME = {
    "user_id",
    "company_id",
    "ubo_id",
    "type",
    "beneficiary_type",
    "currency",
    "country_code",
    "country_of_issue",
    "birth_date",
    "routing_number",  # not private, and with other digits the check digit would be wrong
}


def _other(value: Any, name: str = "") -> Any:
    """Return other values of the same format."""
    if isinstance(value, dict):
        return {key: _other(inner, key) for key, inner in value.items()}
    if not isinstance(value, str) or name in _SAME:
        return value
    digits = str.maketrans("0123456789", "0567891234")
    moved = "".join(chr(ord(c) + 1) if c.isascii() and c.isalpha() and c not in "zZ" else c for c in value)
    return moved.translate(digits)


CASES = {name: (name, arguments) for name, arguments in REQUESTS.items()}
CASES |= {f"{name} (other values)": (name, _other(arguments)) for name, arguments in REQUESTS.items()}


def planted(operation: str, arguments: Mapping[str, Any]) -> dict[str, str]:
    """Return the private values of a request with more than three characters, by wire path."""
    request = build(OPERATIONS[operation].request, arguments)
    found = {path: str(value) for path, one, value, _ in values(request) if one.about.privacy is not OPEN}
    return {path: value for path, value in found.items() if len(value) > 3}


def said(values: Planted) -> str:
    return "; ".join(f"{name} {value!r} is not accepted" for name, value in values.items())


def grouped(value: str) -> str:
    if not any(map(str.isdigit, value)):
        return "  ".join(value.split())
    return " ".join(re.findall(r".{1,3}", value)) if value.isalnum() else re.sub(r"[^\w]", " - ", value)


def as_day(value: str) -> str:
    year, _, rest = value.partition("-")
    return f"{rest[3:]}.{rest[:2]}.{year}" if re.fullmatch(r"\d{4}-\d\d-\d\d", value) else value


def number(value: str) -> Any:
    return int(value) if value.isdigit() else value


BODIES: dict[str, Callable[[Planted], Any]] = {
    "message": lambda values: {"statusCode": 400, "error": "BadRequestError", "message": said(values)},
    "list of messages": lambda values: {"error": "Bad", "message": [f"{value} is wrong" for value in values.values()]},
    "list of objects": lambda values: {"message": [{"field": name, "rejected": value} for name, value in values.items()]},
    "nested details": lambda values: {"message": "no", "details": {"request": {"body": {"received": [dict(values)]}}}},
    "list of problems": lambda values: [{"instancePath": name, "params": {"value": value}} for name, value in values.items()],
    "text": said,
    "JSON text": lambda values: json.dumps(said(values)),
    "upper case": lambda values: {"message": said(values).upper(), "echo": [value.upper() for value in values.values()]},
    "lower case": lambda values: {"message": said(values).lower(), "echo": [value.lower() for value in values.values()]},
    "grouped": lambda values: {"message": [f"<{grouped(value)}>" for value in values.values()]},
    "names": lambda values: {"message": "no", "seen": dict.fromkeys(values.values(), True)},
    "numbers": lambda values: {"message": "no", "rejected": {f"at{n}": number(value) for n, value in enumerate(values.values())}},
    "text in a text": lambda values: {"message": "no", "raw": json.dumps({"body": json.dumps(dict(values))})},
    "HTML": lambda values: f"<html><body>{html.escape(said(values))}</body></html>",
    "form": lambda values: {"message": "&".join(f"{name}={quote(value)}" for name, value in values.items())},
    "other dates": lambda values: {"message": [as_day(value) for value in values.values()]},
    "lists": lambda values: [[[*values.values()]]],
    "letters apart": lambda values: {"message": [letter.join(value) for value in values.values() for letter in (" ", "\u200b", "\\\"")]},
    "wide letters": lambda values: {"message": said(values).translate(WIDE)},
    "mathematical digits": lambda values: {"message": said(values).translate(MATHEMATICAL)},
    "UTF-16": lambda values: said(values).encode("utf-16-le"),
    "long": lambda values: {"message": "x" * 1_990 + said(values), "rest": "y" * 3_990 + said(values)},
}  # fmt: skip
WIDE = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
MATHEMATICAL = {ord("0") + digit: 0x1D7CE + digit for digit in range(10)} | {
    ord(first) + letter: start + letter for first, start in (("A", 0x1D400), ("a", 0x1D41A)) for letter in range(26)
}


def letters(text: str) -> str:
    """Return only the letters and digits of a text, in lower case. Accents stay."""
    return re.sub(r"[\W_]", "", unicodedata.normalize("NFKC", text)).casefold()


MOMENT = re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+|\d+\.\d{4,}(?!\.)")
"""Times and durations: the digits of one may be those of a planted value by chance."""


def leaks(text: str, values: Planted) -> list[str]:
    """Return the paths of the private values that occur in a text."""
    text = MOMENT.sub("", text)
    plain = letters(text) + " " + letters(text.encode().decode("unicode_escape", "ignore"))
    return [
        path
        for path, value in values.items()
        for form in {letters(value), letters(as_day(value)), letters(value).lstrip("0")}
        if (form in plain if len(form) > 5 else re.search(rf"(?i)(?<!\w){re.escape(value)}(?!\w)", text))
    ]


def texts_of(api: wb.Session, call: Callable[[], Any], path: Any, caplog: Any) -> Iterator[tuple[str, str]]:
    """Yield each text about a refused call: error, recording, journal and log."""
    with testing.record(api, path), pytest.raises(wb.errors.WorkbenchError) as caught:
        call()
    error: Any = caught.value
    yield "error", f"{error!s} {error!r} {getattr(error, 'body', '')!r} {error.__dict__!r} {error.__cause__!r}"
    yield "error's body", json.dumps(getattr(error, "body", None), default=str)
    yield "recording", path.read_text()
    yield (
        "journal",
        " ".join(map(repr, api.journal))
        + str([entry.__dict__ if hasattr(entry, "__dict__") else entry for entry in api.journal]),
    )
    yield "log", " ".join(f"{record.getMessage()} {record.__dict__}" for record in caplog.records)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_values_planted() -> None:
    assert sum(len(planted(*case)) for case in CASES.values()) >= 60


def combinations() -> Iterator[Any]:
    """Yield each combination of form, case and status. A seventh of the slower ones are in `make test`."""
    for number, (form, case, status) in enumerate(product(BODIES, CASES, (400, 503, 200))):
        is_quick = status == 400 and "other" not in case
        of_tier = pytest.mark.slow if number % 7 == 0 else pytest.mark.soak
        yield pytest.param(form, case, status, marks=() if is_quick else of_tier)


@pytest.mark.parametrize("form, case, status", [*combinations()])
def test_nothing_that_an_error_repeats_is_written(
    form: str, case: str, status: int, tmp_path: Any, caplog: Any
) -> None:
    operation, arguments = CASES[case]
    values = planted(operation, arguments)
    body = BODIES[form](values)
    content = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    transport = httpx.MockTransport(
        lambda _: httpx.Response(
            status,
            content=content,
            headers={"Retry-After": next(iter(values.values())).encode("ascii", "ignore").decode()},
        )
    )
    api = wb.Session(
        base_url="https://api.example.com/v1", api_key="k" * 20, transport=transport, check=False, journal=wb.Journal()
    )  # fmt: skip
    caplog.set_level(logging.DEBUG)

    def call() -> Any:
        return getattr(api.allowing(unusual_text=True, unverified_address=True), operation)(**arguments)

    if status == 200:
        errors: list[str] = []
        with testing.record(api, tmp_path / "a.ndjson"):
            try:
                call()
            except wb.errors.WorkbenchError as error:
                errors.append(f"{error} {error!r} {error.__dict__!r}")
        texts = [("errors", " ".join(errors)), ("recording", (tmp_path / "a.ndjson").read_text())]
    else:
        texts = list(texts_of(api, call, tmp_path / "a.ndjson", caplog))

    assert {name: found for name, text in texts if (found := leaks(text, values))} == {}
