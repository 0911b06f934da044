"""Write standalone HTML files, which sort, filter and open rows without a kernel, server or network."""

import json
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.base.errors import UsageError, visible
from workbench.base.system.files import write_file
from workbench.screens.panel.cells import Message, rows_of_frame
from workbench.screens.panel.listing import Listing, packed, static_table
from workbench.screens.scripts import FOCUS, bundle
from workbench.service.rendering.design import variables
from workbench.service.rendering.elements import Markup, html_page, isolated
from workbench.service.rendering.text import sentence

if TYPE_CHECKING:
    import pandas as pd

    from workbench.analysis.tables.to_file import Saved

_HERE = Path(__file__).parent
_MODULES = ("elements", "filter", "engine", "table", "overview", "details", "panel")
_STATIC, _STATIC_OF_MANY = 200, 30  # rows per list without JavaScript, for one list and for several
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:"


def to_file(
    of: Any,
    path: str | Path,
    *,
    overwrite: bool = False,
    tz: str = "UTC",
) -> "Saved":
    """Write a frame to a .csv, .xlsx or .parquet file; or a frame, chart, panel or run to an .html file.

    Values and column names are the same in each format: a column `net_cents` holds cents. If the unit of a renamed
    column is unknown, the column head says so. Notes are written to a second sheet (XLSX), the metadata (Parquet), or
    `….csv.notes.txt` (CSV). A file with revealed columns (`reveal=`) is readable only by its owner.

    An HTML file needs no server, kernel or network. A browser can sort, filter and open its rows.

    A mapping of frames makes a workbook (.xlsx) or a page (.html) for people: a cover with time, currency and notes of
    each frame, tables with totals and charts (.xlsx), and definitions. Only in these files are amounts in cents written
    in the main unit of their currency, as the column heads say: `Net (USD)`. The same frames produce the same bytes.

    Args:
        of: Object to write. For a panel, the lists that were read are written.
        path: The file to write. Its extension selects the format.
        overwrite: Whether to replace the file if it exists.
        tz: Time zone of times in XLSX files.

    Raises:
        FileExistsError: The file exists and `overwrite` is False.
        UsageError: The extension is unknown, or the frame is too large for the format.
    """
    from workbench.analysis.tables.frames import to_frame
    from workbench.analysis.tables.to_file import check_columns, is_tabular
    from workbench.analysis.tables.to_file import to_file as to_table

    if hasattr(of, "drawn") and not str(path).lower().endswith(".html"):
        raise UsageError(
            "a chart becomes .html; axes.figure.savefig(path) saves an image, and to_file(axes.drawn, path) the data",
            of="to_file",
        )
    is_workbook = isinstance(of, Mapping) and any(map(is_tabular, of.values()))
    if is_workbook or not str(path).lower().endswith(".html"):
        table = of if is_workbook or is_tabular(of) else to_frame(of)
        return to_table(table, path, overwrite=overwrite, tz=tz)
    if hasattr(of, "document"):
        rows = sum(len(each) for each in of.lists.values() if each.is_read)
        return save(of.document(), path, rows, overwrite=overwrite)
    drawn = getattr(of, "drawn", of)  # for a chart, the frame from which it was drawn
    frame: pd.DataFrame = drawn if is_tabular(drawn) else to_frame(drawn)
    if frame.ndim == 1 or any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    check_columns(frame)
    page = _document_of_frame(frame, of)
    return save(page, path, *frame.shape, overwrite=overwrite, revealed=frame.attrs.get("revealed", ()))


def save(
    page: str, path: str | Path, rows: int, columns: int = 0, *, overwrite: bool = False, revealed: Iterable[str] = ()
) -> "Saved":
    """Write an HTML page to a file.

    Args:
        page: The HTML text.
        rows: Number of rows in the page.
        columns: Number of columns, if the page has one table.
        revealed: Private columns that the page shows. Only the owner can then read the file.

    Raises:
        FileExistsError: The file exists, and `overwrite` is False.
    """
    from workbench.analysis.tables.to_file import Saved

    saved = Saved(path=Path(path), rows=rows, columns=columns, cleaned=0, revealed=tuple(revealed))
    if saved.path.exists() and not overwrite:
        raise FileExistsError(f"{path} exists; pass overwrite=True to replace it")
    write_file(saved.path, page.encode(), private=bool(saved.revealed))
    return saved


def _document_of_frame(frame: "pd.DataFrame", of: Any) -> str:
    """Return a frame as an HTML page. If `of` is a chart, it is shown above the frame."""
    facts = frame.attrs
    title = name = str(facts.get("kind") or "rows")
    lead = ""
    if hasattr(of, "sequence"):
        title, name = of.sequence.name, "rows"
    if hasattr(of, "drawn"):
        title, lead = of.get_title() or name, f"<figure>{of._repr_html_()}</figure>"
    listing = Listing(name.replace("_", " "), lambda: rows_of_frame(frame))
    at = datetime.fromisoformat(facts["until"]) if facts.get("until") else None
    return document(sentence(str(title).replace("_", " ").replace("-", " ")), [listing], lead=lead, at=at)


def document(
    title: str,
    lists: Iterable[Listing],
    *,
    lead: str = "",
    overview: Message | None = None,
    about: Message | None = None,
    at: datetime | None = None,
    notes: Iterable[str] = (),
    every: int = 0,
) -> str:
    """Return lists as an HTML page that sorts, filters and opens rows. Without JavaScript it shows the first rows.

    Args:
        title: Title of the page.
        lists: Lists to show. Lists without rows are omitted.
        lead: HTML above the lists, including the title. External text in the HTML must be escaped.
        overview: Tasks for people, tiles and charts. Without an overview, the page begins with the first list.
        about: Values for the head: `environment`, `host`, `key`, `tenant`.
        at: Time of the data; if omitted, the page shows when it was written.
        notes: Sentences above the lists.
        every: Interval in seconds at which the page reloads itself; 0 for never.
    """
    title, given = visible(title, 200), list(lists)
    shown = [listing for listing in given if listing.data.ids] or given[:1]
    moment = (at or datetime.now(UTC)).astimezone(UTC)
    data = {
        "info": {"clock": moment.isoformat(timespec="seconds"), "every": every, **(about or {})},
        "overview": overview,
        "lists": [packed(listing.name, listing.data, limit=None) for listing in shown],
    }
    written = json.dumps(data, ensure_ascii=False, separators=(",", ":"), default=str)
    for character in "<>&\u2028\u2029":
        written = written.replace(character, f"\\u{ord(character):04x}")
    sheets = [(_HERE / name).read_text(encoding="utf-8") for name in ("page/file.css", "page/panel.css")]
    style = "".join([variables("body", by_system=True), *sheets])
    said = "".join(f"<div>{isolated(visible(str(note), 400))}</div>" for note in notes)
    figures = "".join(
        f"<li>{isolated(tile['label'])}: {isolated(tile['figure'])}</li>" for tile in (overview or {}).get("tiles", ())
    )
    static = f"<ul>{figures}</ul>" * bool(figures) + "".join(
        static_table(listing, _STATIC if len(shown) == 1 else _STATIC_OF_MANY) for listing in shown
    )
    body = Markup(
        f'<main class="file">{"" if lead else f"<h1>{isolated(title)}</h1>"}<div class="lead">{lead}</div>'
        f'<div class="about">{"As of" if at else "Written"} {moment:%Y-%m-%d %H:%M:%S} UTC{said}</div>'
        f'<div id="panel"></div><noscript><div class="static">{static}</div></noscript>'
        f'</main><script type="application/json" id="data">{written}</script><script type="module">{script("file")}'
        'open_file(JSON.parse(document.getElementById("data").textContent), document.getElementById("panel"));'
        "</script>"
    )
    policy = Markup(f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">')
    return html_page(title, body, head=policy, style=style)


def script(*more: str) -> str:
    """Return the page's JavaScript."""
    return bundle(FOCUS, *(_HERE / "page" / f"{name}.js" for name in (*_MODULES, *more)))
