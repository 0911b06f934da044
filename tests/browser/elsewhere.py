"""Try the panel and a form in Notebook 7 and marimo, which the tests do not install, and print what each shows after a click.

Run: pip install notebook marimo, then python -m tests.browser.elsewhere
"""

import secrets
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from playwright.sync_api import Error, Page, expect, sync_playwright

from tests.browser.lab import CHROMIUM, FLAGS, SLOW, environment, serving
from tests.ports import free_port

CELL = """import workbench as wb
api = wb.connect(seed=7)
panel = wb.browse(api)
card = api.sandbox.guide()["cards"]["active"][0]
form = wb.form(api.simulate_authorization, card_id=card, amount=1250, currency="USD", merchant_name="Example Shop",
               merchant_category_code="5411")
"""
MARIMO = """import marimo
app = marimo.App()
@app.cell
def _():
    {cell}
    return (panel, form)
@app.cell
def _(panel):
    panel.widget
    return
@app.cell
def _(form):
    form.widget
    return
if __name__ == "__main__":
    app.run()
"""


def use_panel(page: Page) -> str:
    """Open the panel's list of cards, and return the number of rows that the panel shows."""
    panel = page.locator(".wbp")
    expect(panel.locator(".tile").first).to_be_visible(timeout=SLOW)
    panel.get_by_role("navigation").get_by_role("button", name="Cards", exact=True).click()
    expect(panel.locator(".rows .row").first).to_be_visible()
    return panel.locator(".count").inner_text()


def use_form(page: Page) -> str:
    """Send the form, and return the beginning of its answer."""
    page.locator("button.wb-send").click(timeout=20_000)
    expect(page.locator(".wb-answer-card")).to_be_visible()
    return page.locator(".wb-answer-card").inner_text()[:60]


def in_notebook(page: Page, folder: Path) -> None:
    """Run the cells in Notebook 7."""
    import nbformat

    cells = [nbformat.v4.new_code_cell(text) for text in (CELL, "panel", "form")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(notebook, folder / "panel.ipynb")
    port, token = free_port(), secrets.token_hex(16)
    arguments = [
        "notebook", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}",
        f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={folder}",
    ]  # fmt: skip
    url = f"http://127.0.0.1:{port}"
    with serving(arguments, alive=f"{url}/api/status?token={token}", env=environment(folder), cwd=folder):
        page.goto(f"{url}/notebooks/panel.ipynb?token={token}")
        page.locator("#notebook-container, .jp-Notebook").first.wait_for(timeout=SLOW)
        expect(page.locator(".jp-NotebookKernelStatus, .jp-Notebook-ExecutionIndicator").first).to_be_visible()
        page.locator(".jp-CodeCell .jp-InputPrompt").first.click()
        for _ in cells:
            page.keyboard.press("Shift+Enter")
        report("Notebook 7", version("notebook"), page)


def in_marimo(page: Page, folder: Path) -> None:
    """Run the cells in marimo."""
    (folder / "panel.py").write_text(MARIMO.format(cell=CELL.strip().replace("\n", "\n    ")))
    port = free_port()
    arguments = ["marimo", "-y", "run", "panel.py", "--headless", "--no-token", "--port", str(port)]
    url = f"http://127.0.0.1:{port}"
    with serving(arguments, alive=f"{url}/health", env=environment(folder), cwd=folder):
        page.goto(url)
        report("marimo", version("marimo"), page)


def report(name: str, which: str, page: Page) -> None:
    """Use the panel and the form, and print what each shows."""
    for use in (use_panel, use_form):
        try:
            print(f"{name} {which}, {use.__name__}: {use(page)!r}", flush=True)
        except (AssertionError, Error) as error:
            print(f"{name} {which}, {use.__name__}: failed: {str(error).splitlines()[0]}", flush=True)


def main() -> int:
    """Try the panel and the form in Notebook 7 and in marimo."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(FLAGS))
        for place in (in_notebook, in_marimo):
            with tempfile.TemporaryDirectory() as folder:
                page = browser.new_page(viewport={"width": 1280, "height": 1400})
                page.set_default_timeout(SLOW)
                place(page, Path(folder))
                page.close()
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
