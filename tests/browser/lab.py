"""Run JupyterLab in a separate process, and use its notebooks as a person does."""

import json
import os
import secrets
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import attrs
from playwright.sync_api import Page, expect

from tests.ports import free_port

FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)  # fmt: skip
ROOT = Path(__file__).parents[2]
CHROMIUM = "/usr/bin/chromium"
SLOW = 60_000  # maximum milliseconds to start a kernel under load on two cores

_SETTINGS = {
    "@jupyterlab/apputils-extension/notification": {
        "fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True,
    },
    "@jupyterlab/notebook-extension/tracker": {"windowingMode": "none"},
}  # fmt: skip


@attrs.frozen(kw_only=True)
class Server:
    """A running JupyterLab server: its port and token, and the folder of its notebooks."""

    root: Path
    port: int
    token: str

    def url(self, notebook: str) -> str:
        """Return the URL that opens a notebook alone in a clean workspace."""
        return f"http://127.0.0.1:{self.port}/doc/tree/{quote(notebook)}?token={self.token}&reset"


def environment(folder: Path) -> dict[str, str]:
    """Return environment variables that put all settings, histories and journals into a folder."""
    own = {
        "JUPYTER_CONFIG_DIR": "config", "JUPYTER_DATA_DIR": "data", "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython", "JUPYTERLAB_SETTINGS_DIR": "settings", "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "XDG_STATE_HOME": "state", "XDG_CONFIG_HOME": "xdg", "XDG_DATA_HOME": "share", "MPLCONFIGDIR": "matplotlib",
        "WORKBENCH_STATE": "workbench",
    }  # fmt: skip
    for name in own.values():
        (folder / name).mkdir(parents=True, exist_ok=True)
    return {**os.environ, **{name: str(folder / place) for name, place in own.items()}}


@contextmanager
def serving(arguments: list[str], *, alive: str, env: Mapping[str, str], cwd: Path) -> Iterator[None]:
    """Start a server in a new process session, wait until it answers, and end it and its kernels after the block.

    Args:
        alive: A URL that answers with 200 once the server is ready.
    """
    log = (cwd / "server.log").open("wb")
    process = subprocess.Popen(
        [sys.executable, "-m", *arguments], env=dict(env), cwd=cwd, stdout=log, stderr=log, start_new_session=True
    )
    try:
        _await(alive, process, cwd / "server.log")
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(20)
        log.close()


def _await(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + 90
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            with urllib.request.urlopen(address, timeout=5):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.1)  # poll, because the server is another process
    raise AssertionError(f"the server did not come up:\n{log.read_text(errors='replace')[-2000:]}")


@contextmanager
def jupyter_lab(folder: Path) -> Iterator[Server]:
    """Serve the notebooks of `folder / "root"` in JupyterLab."""
    root = folder / "root"
    root.mkdir(parents=True, exist_ok=True)
    env = environment(folder)
    for name, values in _SETTINGS.items():
        file = folder / "settings" / f"{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    server = Server(root=root, port=free_port(), token=secrets.token_hex(16))
    arguments = [
        "jupyterlab", "--no-browser", "--allow-root", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={server.port}",
        "--ServerApp.port_retries=0", f"--IdentityProvider.token={server.token}", f"--ServerApp.root_dir={root}",
        "--LabApp.news_url=None", "--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate",
        "--LabApp.extension_manager=readonly", "--LabApp.expose_app_in_browser=True",
        "--ServerApp.terminals_enabled=False",
    ]  # fmt: skip
    alive = f"http://127.0.0.1:{server.port}/api/status?token={server.token}"
    with serving(arguments, alive=alive, env=env, cwd=folder):
        yield server


@contextmanager
def course_lab(folder: Path) -> Iterator[str]:
    """Run `workbench course lab` in the checkout, as `make lab` does, without earlier settings, and yield its URL."""
    folder.mkdir(parents=True, exist_ok=True)
    port, token = free_port(), secrets.token_hex(16)
    env = {**environment(folder), "JUPYTER_PORT": str(port), "JUPYTER_TOKEN": token, "BROWSER": "true"}
    alive = f"http://127.0.0.1:{port}/api/status?token={token}"
    with serving(["workbench", "course", "lab", str(ROOT)], alive=alive, env=env, cwd=folder):
        yield f"http://127.0.0.1:{port}/?token={token}"


_READY = """() => {
  const widget = window.jupyterapp?.shell?.currentWidget;
  const session = widget?.sessionContext;
  const kernel = session?.session?.kernel;
  return Boolean(session?.isReady && kernel?.connectionStatus === 'connected' && kernel?.status === 'idle');
}"""


def open_notebook(page: Page, server: Server, notebook: str) -> None:
    """Open a notebook, and wait until its kernel is connected and idle, because the toolbar shows "idle" too early."""
    page.goto(server.url(notebook))
    page.wait_for_selector(".jp-NotebookPanel .jp-Notebook", timeout=SLOW)
    page.wait_for_function(_READY, timeout=SLOW)


def run_all(page: Page, marker: str | None = None) -> None:
    """Run all cells with the menu, and wait until an output contains `marker`, or until the kernel is idle if it is None."""
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name="Run All Cells", exact=True).click()
    if marker is not None:
        expect(page.locator(".jp-OutputArea-output", has_text=marker).first).to_be_visible(timeout=SLOW)
    else:
        page.wait_for_function(
            "() => [...document.querySelectorAll('.jp-CodeCell .jp-InputPrompt')].every(p => /\\d/.test(p.textContent))",
            timeout=SLOW,
        )
        page.wait_for_function(_READY, timeout=SLOW)


def run_in_turn(page: Page, cells: int) -> None:
    """Run the first cells one by one. Each waits until the page has received all output of the previous one."""
    for _ in range(cells):
        page.evaluate("window.jupyterapp.commands.execute('notebook:run-cell-and-select-next')")


_SHOW = """async ([cells, run]) => {
  const {content} = window.jupyterapp.shell.currentWidget, shared = content.model.sharedModel;
  shared.transact(() => {
    shared.deleteCellRange(0, shared.cells.length);
    shared.insertCells(0, cells.map(source => ({cell_type: 'code', source, metadata: {trusted: true}, outputs: []})));
  });
  for (let at = 0; at < run; at++) {
    content.activeCellIndex = at;
    await window.jupyterapp.commands.execute('notebook:run-cell');
  }
}"""
_EMPTY = "import ipywidgets\nipywidgets.Widget.close_all()\nget_ipython().reset()"
THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}


def change_theme(page: Page, theme: str) -> None:
    """Change JupyterLab's theme."""
    page.evaluate("name => window.jupyterapp.commands.execute('apputils:change-theme', {theme: name})", THEMES[theme])
    wanted = "false" if theme == "dark" else "true"
    page.wait_for_function("wanted => document.body.dataset.jpThemeLight === wanted", arg=wanted)


@attrs.frozen
class Desk:
    """A notebook whose page and kernel many tests share. Each test replaces the cells."""

    page: Page
    server: Server
    name: str = "desk.ipynb"

    def clear(self) -> None:
        """Reset the notebook, the kernel, the page and the browser's storage to their initial state."""
        if self.name not in self.page.url:
            open_notebook(self.page, self.server, write_notebook(self.server, self.name, ""))
        self.page.wait_for_function(_READY, timeout=SLOW)
        self.page.evaluate(_SHOW, [[""], 0])
        self.execute(_EMPTY)
        self.page.evaluate("localStorage.removeItem('workbench-panel')")
        if self.page.evaluate("document.body.dataset.jpThemeLight") == "false":
            change_theme(self.page, "light")
        self.page.set_viewport_size({"width": 1280, "height": 900})

    def execute(self, code: str) -> None:
        """Run code in the kernel without a cell."""
        kernel = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        self.page.evaluate(f"code => {kernel}.requestExecute({{code}}).done", code)

    def show(self, *cells: str, run: int | None = None) -> Page:
        """Show cells, and run the first `run` of them (default: all) one by one.

        Each cell waits until the page has received all output of the previous one.
        """
        self.page.evaluate(_SHOW, [list(cells), len(cells) if run is None else run])
        return self.page

    def save(self) -> str:
        """Save the notebook, and return the text of its file."""
        self.page.evaluate("window.jupyterapp.commands.execute('docmanager:save')")
        saved = "() => !window.jupyterapp.shell.currentWidget.context.model.dirty"
        self.page.wait_for_function(saved, timeout=SLOW)
        return (self.server.root / self.name).read_text()

    def restart(self) -> None:
        """Restart the kernel."""
        kernel = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        self.page.evaluate(f"{kernel}.restart()")
        self.page.wait_for_function(_READY, timeout=SLOW)

    def reopen(self) -> None:
        """Open the saved notebook again, after its kernel was shut down."""
        self.page.evaluate("window.jupyterapp.serviceManager.sessions.shutdownAll()")
        self.page.goto(self.server.url(self.name))


def write_notebook(server: Server, name: str, *cells: str) -> str:
    """Write a notebook of code cells into the server's folder, and return its name."""
    import nbformat

    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(one) for one in cells])
    made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3", "language": "python"}
    nbformat.write(made, server.root / name)
    return name
