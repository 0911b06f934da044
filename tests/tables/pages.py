"""Pages of rewards activity for tests: ordinary ones, unusual ones, and mutated ones."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pandas as pd

from workbench.analysis.rewards.pages import PageReader, with_user
from workbench.analysis.tables.rows import Table, arrow_table

GOOD = (
    b'{"items":[{"type":"earned","id":"e1","points":"12.50","reason":"CARD_SPEND","status":"COMPLETED",'
    b'"merchantName":"Corner Shop","transactionAmountCents":1250,"spendCategory":"groceries",'
    b'"postedAt":"2026-01-01T00:00:00.000Z","mintedAt":"2026-01-02T00:00:00Z","createdAt":"2026-01-01T00:00:00Z"},'
    b'{"type":"redeemed","id":"r1","points":"-3","status":"PENDING","createdAt":"2026-02-01T10:00:00.123456+02:00"}]}'
)


def items(*rows: str) -> bytes:
    return ('{"items":[' + ",".join(rows) + "]}").encode("utf-8", "surrogatepass")


def value(name: str, text: str) -> bytes:
    return items(f'{{"id":"1","{name}":{text}}}')


ODD: dict[str, bytes] = {
    # bodies that are not pages
    "an error body": b'{"statusCode":500,"error":"InternalServerError","message":"Internal server error"}',
    "nothing": b"",
    "blanks": b"  \n",
    "null": b"null",
    "an empty object": b"{}",
    "a list": b"[]",
    "a number": b"5",
    "text": b'"items"',
    "HTML": b"<html><body>Bad gateway</body></html>",
    "truncated in a row": GOOD[:150],
    "truncated at the end": GOOD[:-1],
    "two pages in one": GOOD + GOOD,
    "two pages on two lines": GOOD + b"\n" + GOOD,
    "a page and a word": GOOD + b"x",
    "single quotes": GOOD.replace(b'"', b"'"),
    "a comma too many": b'{"items":[],}',
    "a comma too many in the list": b'{"items":[{"id":"1"},]}',
    "a comment": b'{"items":[] /* none */}',
    "a byte order mark": b"\xef\xbb\xbf" + GOOD,
    "UTF-16": GOOD.decode().encode("utf-16"),
    "items null": b'{"items":null}',
    "items an object": b'{"items":{}}',
    "items text": b'{"items":"none"}',
    "items twice": b'{"items":[],"items":[]}',
    "Items with a capital": b'{"Items":[]}',
    "a null row": b'{"items":[null]}',
    "a null row among others": b'{"items":[{"id":"1"},null,{"id":"2"}]}',
    "a number for a row": b'{"items":[5]}',
    "a list for a row": b'{"items":[[]]}',
    # valid pages
    "a usual page": GOOD,
    "no rows": b'{"items":[]}',
    "a row of nothing": b'{"items":[{}]}',
    "blanks around": b" \r\n" + GOOD + b"\n\t ",
    "blanks within": GOOD.replace(b":", b" : ").replace(b",", b",\n"),
    "all members null": items(*("{" + ",".join(f'"{n}":null' for n in ("type", "id", "points", "postedAt", "reason")) + "}",)),
    "empty texts": items('{"type":"","id":"","reason":"","merchantName":""}'),
    # wrong types
    "a number for an id": value("type", "5"),
    "a flag for text": value("reason", "true"),
    "an object for text": value("merchantName", "{}"),
    "text for cents": value("transactionAmountCents", '"1250"'),
    "a flag for cents": value("transactionAmountCents", "true"),
    "a number for a time": value("postedAt", "1767225600"),
    "a list for a time": value("postedAt", "[]"),
    "a number for points": value("points", "12.5"),
    "a whole number for points": value("points", "12"),
    "null for points": value("points", "null"),
    "a flag for points": value("points", "false"),
    # numbers
    "cents with a zero": value("transactionAmountCents", "1250.0"),
    "cents with a half": value("transactionAmountCents", "1250.5"),
    "cents with an exponent": value("transactionAmountCents", "1.25e3"),
    "negative zero cents": value("transactionAmountCents", "-0"),
    "cents with a leading zero": value("transactionAmountCents", "012"),
    "the largest cents": value("transactionAmountCents", str(2**63 - 1)),
    "cents beyond 64 bits": value("transactionAmountCents", str(2**63)),
    "cents beyond 30 digits": value("transactionAmountCents", "1" + "0" * 35 + ".0"),
    "cents of 500 digits": value("transactionAmountCents", "9" * 500),
    "cents NaN": value("transactionAmountCents", "NaN"),
    "cents Infinity": value("transactionAmountCents", "-Infinity"),
    "points with an exponent": value("points", '"1e3"'),
    "points with a plus": value("points", '"+1"'),
    "points with a dot alone": value("points", '"."'),
    "points ending in a dot": value("points", '"5."'),
    "points beginning with a dot": value("points", '"-.5"'),
    "points with blanks": value("points", '" 5"'),
    "points with a comma": value("points", '"1,000.00"'),
    "empty points": value("points", '""'),
    "points in words": value("points", '"many"'),
    "points NaN": value("points", '"NaN"'),
    "points in other digits": value("points", '"٣"'),
    "points of 7 places": value("points", '"0.1234567"'),
    "points of 7 places, the last 0": value("points", '"0.1234560"'),
    "points of 18 places": value("points", '"0.123456789012345678"'),
    "points of 19 places": value("points", '"0.1234567890123456789"'),
    "points of 78 digits": value("points", f'"{2**256 - 1}"'),
    "points of 500 digits": value("points", '"' + "9" * 500 + '"'),
    "negative zero points": value("points", '"-0.00"'),
    # times
    **{
        f"the time {text}": value("postedAt", f'"{text}"')
        for text in (
            "2026-01-01", "2026-01-01T00:00:00", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00.123456789Z",
            "2026-01-01T00:00:00.1Z", "2026-01-01T00:00Z", "2026-01-01T00Z", "2026-01-01T00:00:00+0200",
            "2026-01-01T00:00:00+02", "2026-01-01T00:00:00-23:59", "2026-01-01T00:00:00+24:00", "2016-12-31T23:59:60Z",
            "2026-01-01T24:00:00Z", "2026-02-30T00:00:00Z", "20260101T000000Z", "2026-W01-1", "1767225600",
            "1767225600000", "0001-01-01T00:00:00+02:00", "0001-01-01T00:00:00Z", "9999-12-31T23:59:59-02:00",
            "9999-12-31T23:59:59Z", "0000-01-01T00:00:00Z", "", "yesterday", "2026-01-01T00:00:00z",
            "2026-01-01t00:00:00Z", "2026-01-01T00:00:00,5Z", "2026-01-01T00:00:00.Z", " 2026-01-01T00:00:00Z",
            "2026-01-01T00:00:00Z ", "2026-1-1T00:00:00Z", "٢٠٢٦-01-01T00:00:00Z", "-2026-01-01T00:00:00Z",
        )
    },
    # unknown members and values
    "an unknown type": value("type", '"refunded"'),
    "a new text": value("tier", '"gold"'),
    "a new time": value("tier", '"2026-01-01T00:00:00Z"'),
    "a new number": value("tier", "1.50"),
    "a new number of many digits": value("tier", "1." + "1" * 350),
    "a new number of 500 digits": value("tier", "0." + "1" * 500),
    "a new number too large": value("tier", "1e999"),
    "a new NaN": value("tier", "NaN"),
    "a new Infinity": value("tier", "[Infinity]"),
    "a new flag": value("tier", "true"),
    "a new null": value("tier", "null"),
    "a new object": value("tier", '{"level":{"name":"gold","since":null}}'),
    "a new object with a member twice": value("tier", '{"a":1,"a":2}'),
    "a new mixed list": value("tier", '[1,"a",null,{}]'),
    "a new empty list": value("tier", "[]"),
    "a new member twice": items('{"tier":1,"tier":2}'),
    "a new empty name": items('{"":1}'),
    "a new name in capitals": items('{"ID":"1"}'),
    "a new member in some rows": items('{"id":"1","tier":"gold"}', '{"id":"2"}', '{"tier":null,"zone":1}'),
    "a new member of two types": items('{"tier":"gold"}', '{"tier":1}'),
    "a new page member": b'{"items":[{"id":"1"}],"total":1,"next":null,"links":{"self":"x"}}',
    "our own name": items('{"extra":"x","id":"1"}'),
    "a snake name": items('{"merchant_name":"x"}'),
    "an id twice in a row": items('{"id":"1","id":"1"}'),
    "deep": value("tier", "[" * 900 + "]" * 900),
    "very deep": value("tier", "[" * 100_000 + "]" * 100_000),
    "very deep objects": value("tier", '{"a":' * 100_000 + "1" + "}" * 100_000),
    # text
    "escapes": items(r'{"id":"a\/b\"c\\d\n\t\u00e9\ud83d\ude00"}'),
    "an escaped name": b'{"it\\u0065ms":[{"i\\u0064":"1"}]}',
    "half a surrogate pair": items(r'{"id":"\ud800"}'),
    "the other half": items(r'{"id":"x\udc00y"}'),
    "halves in the wrong order": items(r'{"id":"\udc00\ud800"}'),
    "half a pair in an unknown member": items(r'{"tier":"\ud800"}'),
    "a surrogate in UTF-8": items('{"id":"\ud800"}'),
    "a NUL": items(r'{"id":"a\u0000b"}'),
    "a raw control character": items('{"id":"a\tb"}'),
    "bad UTF-8": GOOD.replace(b"Corner", b"C\xffrner"),
    "bad UTF-8 in a name": GOOD.replace(b"reason", b"re\xe9son"),
    "overlong UTF-8": GOOD.replace(b"Corner", b"C\xc0\xafrner"),
    "other scripts": items('{"id":"日本語 ünï \u202e\u2028"}'),
    "a bad escape": items(r'{"id":"\x41"}'),
    "a long text": items('{"id":"' + "x" * 70_000 + '"}'),
    "words of numbers": items('{"merchantName":"NaN Infinity 1e999"}'),
    "brackets in text": items('{"merchantName":"}{][,"}'),
    "a hundred rows": items(*(f'{{"id":"{i}","points":"{i}.5"}}' for i in range(100))),
    "more rows than allowed": items(*(f'{{"id":"{i}"}}' for i in range(1_500))),
}  # fmt: skip


def page(rows: int, start: int = 0, seed: int = 0) -> bytes:
    """Return an ordinary page with random rows, as a service may write it."""
    chance = random.Random(f"{seed} {start}")

    def moment() -> str:
        day = f"2026-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
        return f"{day}T{chance.randint(0, 23):02}:{chance.randint(0, 59):02}:12.{chance.randint(0, 999):03}Z"

    made = [
        {
            "type": chance.choice(["earned", "earned", "redeemed"]),
            "id": f"{chance.getrandbits(128):032x}",
            "points": f"{chance.randint(-99_999, 999_999) / 100:.2f}",
            "reason": "CARD_SPEND",
            "status": chance.choice(["COMPLETED", "PENDING"]),
            "merchantName": chance.choice(["Corner Shop", "Café Noir", "Acme Travel", "Books & More"]),
            "transactionAmountCents": chance.randint(1, 10**6),
            "spendCategory": chance.choice(["groceries", "travel", "dining", None]),
            "postedAt": moment(),
            "mintedAt": moment(),
            "createdAt": moment(),
        }
        for _ in range(rows)
    ]
    return orjson.dumps({"items": made})


def mutated(seed: int) -> Iterator[bytes]:
    """Yield an endless series of pages with one to three random changes of bytes, bits, pieces or values."""
    chance = random.Random(seed)
    seeds = [GOOD, page(3), *ODD.values()]
    seeds = [body for body in seeds if 0 < len(body) < 3_000]
    words = [b"null", b"NaN", b"1e5", b'"', b"\\u0041", b"\\ud800", b"\xff", b"{}", b"[]", b",", b":", b"-0", b"0.0", b"true",
             b'"2026-01-01"', b'"1e2"', b'"+5"', b'"tier":1,', b'"id":"x",', b" ", b"\n", b"}", b"]", b"9" * 30, b"\\u0000"]  # fmt: skip
    ways: list[Callable[[bytes], bytes]] = [
        lambda b: b[: (i := chance.randrange(len(b) + 1))] + chance.choice(words) + b[i:],
        lambda b: b[: (i := chance.randrange(len(b)))] + b[i + chance.randint(1, 4) :],
        lambda b: b[: (i := chance.randrange(len(b)))] + bytes([chance.randrange(256)]) + b[i + 1 :],
        lambda b: b[: (i := chance.randrange(len(b)))] + bytes([b[i] ^ (1 << chance.randrange(8))]) + b[i + 1 :],
        lambda b: b.replace(
            chance.choice([b"12", b"2026", b"CARD", b"earned", b"null", b"Z", b"00"]), chance.choice(words), 1
        ),
        lambda b: b[: (i := chance.randrange(len(b)))] + b[i : i + 40] + b[i:],
        lambda b: b + chance.choice(seeds)[:30],
    ]
    while True:
        body = chance.choice(seeds)
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            if body:
                body = chance.choice(ways)(body)
        yield body


BATCH = 32


def rewards_from_pages(bodies: Any, *, users: Any = None, names: Any = None) -> pd.DataFrame:
    """Return the frame of some page bodies. `attrs["routes"]` counts the pages that the fast and the exact reader read."""
    reader = PageReader(names or {})
    routes = {"fast": 0, "exact": 0}
    tables: list[Table] = []
    done = 0
    while batch := list(bodies[done : done + BATCH]):
        parts = reader.fast(batch) or [reader.read(body, number) for number, body in enumerate(batch, done)]
        fast = len(batch) if reader.fast(batch) else sum(bool(reader.fast([body])) for body in batch)
        routes["fast"] += fast
        routes["exact"] += len(batch) - fast
        tables += [part if users is None else with_user(part, users[number]) for number, part in enumerate(parts, done)]
        done += len(batch)
    frame = reader.frame(tables or [arrow_table(reader.layout, [], ())])
    frame.attrs["routes"] = routes
    return frame
