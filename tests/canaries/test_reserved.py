"""Private data in the repository comes from reserved ranges: no number, address or mailbox belongs to a person."""

import ipaddress
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.canaries.places import HERE

SUFFIXES = {".py", ".md", ".ipynb", ".json", ".jsonl", ".toml", ".csv", ".html", ".txt"}
FOLDERS = ("workbench", "tests", "docs", "notebooks", "binder")
PUBLIC = {"93.184.215.14", "192.0.0.8"}  # a former address of example.com, and the IPv4 dummy address (RFC 7600)

RESERVED: dict[str, tuple[str, Callable[[str], Any]]] = {
    "mailboxes": (
        r"(?<=[A-Za-z0-9._%+-])@([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)",
        lambda host: re.search(r"(?:^|\.)example(?:\.(?:com|org|net))?$", host) or host == "127.0.0.1",
    ),
    "national ids": (
        r"(?i)(?:national_?id|ssn)[\"']?\s*[:=,]\s*[\"'](\d{3}-?\d{2}-?\d{4})[\"']",
        lambda number: re.match(r"000|666|9", number),
    ),
    "phone numbers": (r"(?i)phone_?number[\"']?\s*[:=,]\s*[\"']([\d -]{7,})[\"']", lambda number: re.match(r"(?:\d{3})?555 ?-?01\d\d$", number)),
    "routing numbers": (r"(?i)routing_?number[\"']?\s*[:=,]\s*[\"'](\d{9})[\"']", lambda number: number in {"000000000", "011000015", "021000021", "021000022"}),
    "addresses of machines": (
        r"(?<![\d.])(\d{1,3}(?:\.\d{1,3}){3})(?![\d.])", lambda text: text in PUBLIC or not _global(text),
    ),
}  # fmt: skip
"""What is looked for, and what of it may stand anywhere."""


def _global(text: str) -> bool:
    try:
        one = ipaddress.ip_address(text)
    except ValueError:  # the text only looks like an address
        return False
    return one.is_global and not one.is_multicast


@cache
def _texts() -> tuple[tuple[str, str], ...]:
    return tuple((str(one.relative_to(HERE)), one.read_text(encoding="utf-8")) for one in _files())


def _files() -> Iterator[Path]:
    yield HERE / "README.md"
    for folder in FOLDERS:
        found = sorted((HERE / folder).rglob("*"))
        yield from (
            one for one in found if one.suffix in SUFFIXES and one.is_file() and "node_modules" not in one.parts
        )


@pytest.mark.slow
@pytest.mark.parametrize("what", RESERVED)
def test_only_what_is_reserved(what: str) -> None:
    """Mailboxes, national ids, phone and routing numbers and IP addresses are reserved ones."""
    pattern, reserved = RESERVED[what]
    found = [(name, one) for name, text in _texts() for one in re.findall(pattern, text)]

    assert found
    assert [] == [(name, one) for name, one in found if not reserved(one)]
