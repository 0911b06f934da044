"""Create or compare the pictures of screens in docs/images. `python -m tests.browser.pictures` creates them.

A test that shows a screen calls `picture`, which compares the screen with the stored picture, or creates the picture. The
comparison tolerates differences between runs, such as ids and times. Each picture stores the browser version and fonts
that it was made with. With another browser or other fonts, `picture` compares nothing, because lines of text are in other places.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from html import escape
from io import BytesIO
from pathlib import Path

from PIL import Image, ImageChops, ImageDraw, ImageStat
from PIL.PngImagePlugin import PngInfo
from playwright.sync_api import Locator

import workbench as wb
from tests.charts import samples
from workbench import charts
from workbench.service import rendering
from workbench.service.rendering import design, markup
from workbench.service.rendering.design import LOOKS, word

IMAGES = Path(__file__).parents[2] / "docs" / "images"
TOLERANCE = 0.02
"""Maximum mean difference of two reduced pictures, in which letters blur; 1 is the difference of black and white."""
MAKE = "MAKE_PICTURES"
_FAR = 4  # pixels of the page per pixel of the reduced picture
_FONTS = """() => ["system-ui", "monospace"].map(font => {
  const on = document.createElement("canvas").getContext("2d");
  on.font = `100px ${font}`;
  return Math.round(on.measureText("Sphinx of black quartz, 0123456789").width);
}).join(" ")"""


def picture(shown: Locator, name: str, colors: int = 96) -> None:
    """Compare an element with its picture for up to five seconds, or create the picture first if `MAKE` is set.

    Args:
        shown: The element on the page.
        name: Name of the picture, without its extension.
        colors: Number of colors of a created picture; 0 for all colors.
    """
    page, path = shown.page, IMAGES / f"{name}.png"
    page.mouse.move(0, 0)
    assert page.context.browser is not None
    made_with = f"Chromium {page.context.browser.version.partition('.')[0]}, fonts {page.evaluate(_FONTS)}"
    if os.environ.get(MAKE):
        page.wait_for_timeout(1_000)
        image, about = _taken(shown), PngInfo()
        about.add_text("Software", made_with)
        (image.quantize(colors) if colors else image).save(path, pnginfo=about, optimize=True)
    # text has other line breaks with another browser version or other fonts, so such pictures are not compared
    with Image.open(path) as kept:
        if kept.info.get("Software") != made_with:
            return
        wanted = kept.convert("RGB")
    for _ in range(10):
        if apart(_taken(shown), wanted) <= TOLERANCE:
            return
        page.wait_for_timeout(500)  # a kernel's last output may arrive late
    raise AssertionError(f"{name} looks different: python -m tests.browser.pictures")


def contact_sheet(shots: Mapping[str, bytes], name: str, columns: int = 5) -> None:
    """Create one picture of several screenshots with their names, if `MAKE` is set."""
    if not os.environ.get(MAKE):
        return
    images = [Image.open(BytesIO(shot)).convert("RGB") for shot in shots.values()]
    wide = 480 if images[0].width > 700 else 240
    images = [image.resize((wide, image.height * wide // image.width), Image.Resampling.LANCZOS) for image in images]
    high = max(image.height for image in images) + 24
    sheet = Image.new("RGB", (columns * (wide + 8), -(-len(images) // columns) * high), "#80868f")
    for number, (title, image) in enumerate(zip(shots, images, strict=True)):
        left, top = number % columns * (wide + 8), number // columns * high
        ImageDraw.Draw(sheet).text((left + 4, top + 4), title, fill="white", font_size=14)
        sheet.paste(image, (left, top + 22))
    sheet.quantize(200).save(IMAGES / f"{name}.png", optimize=True)


def _taken(shown: Locator) -> Image.Image:
    return Image.open(BytesIO(shown.screenshot(animations="disabled", caret="hide"))).convert("RGB")


def apart(one: Image.Image, other: Image.Image) -> float:
    """Return the difference of two pictures, from 0 (equal) to 1 (black and white, or another size)."""
    if any(abs(a - b) > 0.1 * b for a, b in zip(one.size, other.size, strict=True)):
        return 1.0
    size = (other.width // _FAR, other.height // _FAR)
    difference = ImageChops.difference(*(each.convert("L").resize(size, Image.Resampling.BOX) for each in (one, other)))
    return float(ImageStat.Stat(difference).mean[0]) / 255


def specimen() -> str:
    """Return an HTML page with every part of the design, in the reader's light or dark theme."""
    with wb.connect(seed=7) as api:
        guide = api.sandbox.guide()
        bought = api.simulate_authorization(
            card_id=guide["cards"]["active"][0], amount=1250, currency="USD", merchant_name="Coats and More",
            merchant_category_code="5651",
        )  # fmt: skip
        contract = api.list_contracts()[0]
        plan = wb.withdrawals.plan(
            api, contract, token=contract.tokens[0], amount=wb.withdrawals.usd("25.00"), decimals=6,
            admin=contract.admin_addresses[0], to=contract.admin_addresses[1],
        )  # fmt: skip
        journal = list(api.journal)
    tokens = "".join(f'<div><span style="background:var(--wb-{name})"></span>{name}</div>' for name in design.LIGHT)
    scale = "".join(
        f'<div style="font-size:var(--wb-{name})">{name} {design.SCALE[name]}</div>'
        for name in ("small", "text", "large", "title", "figure")
    )
    spaces = "".join(
        f'<div><i style="width:var(--wb-{name})"></i>{name} {design.SCALE[name]}</div>'
        for name in ("s1", "s2", "s3", "s4", "s6")
    )
    pills = " ".join(
        markup.chip(f"{look.mark} {word(status)}", status)
        for status, look in {word(one): (one, seen) for one, seen in LOOKS.items()}.values()
    )
    table = [
        {"merchant": "Coats and More", "status": "settled", "amount": 123456},
        {"merchant": "Example Cafe", "status": "declined", "amount": 420},
    ]
    try:
        wb.withdrawals.usd("25")
    except wb.errors.UsageError as error:
        refused = rendering.html(error)
    controls = (
        '<p><label>Label<br><input value="12.50"></label> <label>Choice<br><select><option>This month</option></select></label> '
        '<button class="edge">Button</button> <button class="main">Main button</button> <button class="link">Link</button> <span class="quiet">Help and labels</span></p>'
        '<div class="tiles"><div class="tile-of"><div class="tile"><span class="quiet">Open holds</span><b>11,810.24 USD</b><span class="quiet">93 authorized</span></div></div></div>'
    )
    parts = {
        "Colors": f'<div class="colors">{tokens}</div>', "Type": scale, "Spaces": f'<div class="spaces">{spaces}</div>',
        "Statuses": f'<div style="line-height:2">{pills}</div>', "Controls and tiles": controls,
        "Table": rendering.html_table([{**row, "amount": rendering.money(row["amount"])} for row in table]),
        "Card of a record, with its states": rendering.html(bought), "Error": refused,
        "Addresses, whole where money moves": plan._repr_html_(), "Call in the journal": rendering.html(journal[-1]),
        "States": charts.state_diagram("dispute", "inReview"),
        "Chart": charts.points_chart(samples.rewards(), freq="month")._repr_html_(),
        "Compact chart": charts.rewards_chart(samples.rewards(), size="compact")._repr_html_(),
    }  # fmt: skip
    css = (Path(wb.__file__).parent / "screens" / "panel" / "page" / "panel.css").read_text(encoding="utf-8")
    own = (
        "body{margin:0;color-scheme:light dark} .wbp{columns:2;overflow:visible;border:0;padding:16px;column-gap:24px;max-width:none} section{break-inside:avoid;margin:0 0 16px}"
        " h2{font-size:15px;margin:0 0 4px;border-bottom:1px solid var(--wb-line)} .colors{columns:3} .colors span{display:inline-block;width:40px;"
        "height:16px;margin-right:8px;border:1px solid var(--wb-edge);vertical-align:middle} .spaces i{display:inline-block;height:10px;"
        "background:var(--wb-accent);margin-right:8px}"
    )
    shown = "".join(f"<section><h2>{escape(title)}</h2>{text}</section>" for title, text in parts.items())
    return f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Design</title><style>{design.variables(".wbp", by_system=True)}{css}{own}</style><main class="wbp">{shown}</main></html>'


def main() -> int:
    """Run the tests that show screens, and let the tests create the pictures."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-n",
        "0",
        "-m",
        "browser",
        "-k",
        "picture or screen or side_by_side or board",
        "tests/browser",
    ]
    return subprocess.run(words, env={**os.environ, MAKE: "1"}, cwd=IMAGES.parents[1], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
