"""Private values, and files of recorded traffic in every format that contain each value in every place."""

import csv
import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import quote

PLANTED = (
    "Zelmira", "Quixano", "Zelmira Quixano called", "ZELMIRA O'QUIXANO-BRÛLÉ", "Ζελμίρα", "Зельмира", "سلمى", "寿司", "김철수", "สมชาย",
    "zelmira.q@example.net", "zelmira+cards@example.org", "900-12-3456", "900123456", "666 12 3456", "98-7654321", "X12345678",
    "4111111111111111", "4111 1111 1111 1111", "5555-5555-5555-4444", "378282246310005", "GB33BUKB20201555555555", "000123456789",
    "+13125550199", "(312) 555-0123", "312.555.0144", "1979-03-04", "04/03/1979", "1979-03-04T05:06:07Z", "19790304",
    "203.0.113.77", "2001:db8::77", "00-53-00-AB-CD-EF", "Quagmire Street 5", "Apt. 9B, Quagmire Court", "ZQ9 7XX", "48.858370,2.294481",
    "k3y-s3cr3t-0001", "eyJhbGciOiJub25lIn0.eyJzdWIiOiJ6ZWxtaXJhIn0.c2lnbmF0dXJl", "c2VjcmV0LXNlY3JldC1zZWNyZXQ=", "hunter2-hunter2",
    "0xd8dA6BF26964aF9D7eEd9e03E53415D37aA96045", "0x00112233445566778899aabbccddeeff00112233", "5eykt4UsFv8P8NJdTREpY1vzqKqZKvdpKuc147dw2N9d",
    "GAAZI4TCR3TY5OJHCTJC2A4QSY6CJWJH5IAJTGKIN2ER7LBNVKOCCWN7", "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    "5e884898-da28-4047-b151-d0e56f8dc629", "https://example.com/u/zelmira?token=zq77", "@zelmira_q", "diagnosis: quagmire fever", "1f469200d83ddcbb",
)  # fmt: skip
"""Names, contacts, numbers of people, cards and accounts, times, places, keys and addresses; reserved values if possible."""
BASE = "https://api.example.com/v1"
ID = "0c2a1c07-5a6f-4a77-8a9c-0c2a1c075a6f"
_USER = {"resource": "user", "action": "updated", "version": "1.0.0"}


def _number(secret: str) -> Any:
    return int(secret) if secret.isascii() and secret.isdecimal() and secret[0] != "0" else secret


def _bodies(secret: str) -> Iterator[dict[str, Any]]:
    """Yield JSON objects that contain a value as id, name, text, member name and number, and in lists and messages."""
    number = _number(secret)
    yield {
        "id": secret,
        "firstName": secret,
        secret: secret,
        "nested": {secret: [secret, {"a": secret}]},
        "number": number,
    }
    yield {
        "nationalId": number,
        "last4": number,
        "birthDate": secret,
        "declinedReason": secret,
        "list": [number, [number]],
    }
    yield {
        "applicationStatus": secret,
        "address": {"city": secret, secret: number},
        "email": f"<{secret}>",
        "currency": secret,
    }
    yield {
        "statusCode": 400,
        "error": secret,
        "message": f"{secret} is not allowed; ask {secret}",
        "code": secret,
        secret: 1,
    }


def exchanges() -> Iterator[dict[str, Any]]:
    """Yield requests with responses that contain each value in the path, the query, the headers and the bodies."""
    for secret in PLANTED:
        text = quote(secret, safe="")
        headers = {
            "authorization": f"Bearer {secret}",
            "x-customer": secret,
            "api-key": secret,
            "content-type": "application/json",
        }
        for number, body in enumerate(_bodies(secret)):
            yield {
                "method": "PATCH",
                "url": f"{BASE}/issuing/users/{(text, ID)[number % 2]}?{text}={text}",
                "status": (200, 200, 201, 400)[number],
                "request_headers": headers,
                "request_body": body,
                "response_headers": {
                    "x-ratelimit-limit": secret,
                    secret: secret,
                    "set-cookie": secret,
                    "retry-after": secret,
                },
                "response_body": body,
            }
        asked = {
            "cardId": ID,
            "amount": 10,
            "currency": "USD",
            "merchantName": secret,
            "merchantCategoryCode": secret[:4],
        }
        declined = {"transactionId": ID, "status": "declined", "declinedReason": secret}
        yield {
            "method": "POST", "url": f"{BASE}/simulate/transactions/authorize", "status": 200, "request_headers": headers,
            "request_body": asked, "response_headers": {}, "response_body": declined,
        }  # fmt: skip


def events() -> Iterator[dict[str, Any]]:
    """Yield events that contain each value in the envelope and the body."""
    for secret in PLANTED:
        for body in _bodies(secret):
            yield {**_USER, "id": secret, "version": secret, "body": body}
        yield {**_USER, "id": secret, "resource": secret, "body": {"spend": {"merchantName": secret, "cardId": secret}}}
        spend = {
            "merchantName": secret,
            "amount": 10,
            "status": "pending",
            "userFirstName": secret,
            "cardId": ID,
            "userId": secret,
        }
        yield {
            "id": secret,
            "resource": "transaction",
            "action": "created",
            "version": "1.0.0",
            "body": {"id": ID, "spend": spend},
        }


def _har(path: Path) -> None:
    def pairs(headers: dict[str, str]) -> list[dict[str, str]]:
        return [{"name": name, "value": value} for name, value in headers.items()]

    entries = [
        {
            "startedDateTime": "2026-01-01T00:00:00Z",
            "request": {"method": row["method"], "url": row["url"], "headers": pairs(row["request_headers"]),
                        "postData": {"text": json.dumps(row["request_body"])}},
            "response": {"status": row["status"], "headers": pairs(row["response_headers"]),
                         "content": {"text": json.dumps(row["response_body"])}},
        }
        for row in exchanges()
    ]  # fmt: skip
    path.write_text(json.dumps({"log": {"entries": entries}}))


def _log(path: Path) -> None:
    path.write_text(
        "\n".join(json.dumps({**row, "response_body": json.dumps(row["response_body"])}) for row in exchanges())
    )


def _packed(path: Path) -> None:
    path.write_bytes(gzip.compress("\n".join(map(json.dumps, exchanges())).encode()))


def _access(path: Path) -> None:
    line = (
        '{client} - {client} [27/Nov/2026:02:00:00 +0000] "{method} {url} HTTP/1.1" {status} 2 "{client}" "{client}"\n'
    )
    rows = ((secret, row) for secret, row in zip(PLANTED * 5, exchanges(), strict=True))
    path.write_text("".join(line.format(client=client, **{**row, "url": row["url"]}) for client, row in rows))


def _curl(path: Path) -> None:
    with path.open("w") as file:
        for row in exchanges():
            file.write(
                f"* Connected to {row['request_headers']['x-customer']}\n> {row['method']} {row['url'][23:]} HTTP/1.1\n"
            )
            file.writelines(
                f"> {name}: {value}\n" for name, value in {"Host": "api.example.com", **row["request_headers"]}.items()
            )
            file.write(f">\n< HTTP/1.1 {row['status']} OK\n")
            file.writelines(f"< {name}: {value}\n" for name, value in row["response_headers"].items())
            file.write(f"<\n{json.dumps(row['response_body'])}\n")


def _webhooks(path: Path) -> None:
    headers = {"Signature": PLANTED[0], "x-customer": PLANTED[1]}
    path.write_text("\n".join(json.dumps({"headers": headers, "body": event}) for event in events()))


def _deliveries(path: Path) -> None:
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["time", "headers", "body", "note"])
        rows.writerows(
            ["2026-01-01T00:00:00Z", json.dumps({"a": event["id"]}), json.dumps(event), event["id"]]
            for event in events()
        )


def _inbox(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE events (body, arrived)")
        file.executemany("INSERT INTO events VALUES (?, 1)", [(json.dumps(event).encode(),) for event in events()])


def _journal(path: Path) -> None:
    with closing(sqlite3.connect(path)) as file, file:
        file.execute("CREATE TABLE calls (operation, status, started, request, answer, number)")
        calls = [
            (
                "update_user",
                row["status"],
                1,
                json.dumps({"userId": ID, **row["request_body"]}),
                json.dumps(row["response_body"]),
                number,
            )
            for number, row in enumerate(exchanges())
        ]
        file.executemany("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?)", calls)


FORMS = {
    "calls.har": _har, "calls.ndjson": _log, "calls.ndjson.gz": _packed, "access.log": _access, "curl.txt": _curl,
    "webhooks.ndjson": _webhooks, "deliveries.csv": _deliveries, "inbox.db": _inbox, "journal.db": _journal,
}  # fmt: skip
"""Functions that write the files, by file name."""
