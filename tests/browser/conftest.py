"""Fixtures with Chromium and JupyterLab for the browser tests. All tests share one server, and no request may leave this machine."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, expect

from tests.browser.lab import CHROMIUM, FLAGS, SLOW, Desk, Server, jupyter_lab


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    """Start the system's Chromium headless, with access to this machine only."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not installed; CONTRIBUTING.md says how")
    return {"executable_path": CHROMIUM, "args": list(FLAGS), "headless": True}


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, object]:
    """Use the window size of a small laptop."""
    return {"viewport": {"width": 1280, "height": 900}}


expect.set_options(timeout=SLOW / 2)  # generous, since other processes may use the two cores


_OF_LAB = "Failed to execute 'removeChild' on 'Node'"


@attrs.define(slots=False)  # Playwright sets attributes on an object whose methods handle events
class Watch:
    """A record of what pages must not do: requests to other machines, dialogs, and errors."""

    strays: list[str] = attrs.field(factory=list)
    dialogs: list[str] = attrs.field(factory=list)
    errors: list[str] = attrs.field(factory=list)

    def request(self, request: Request) -> None:
        """Record a request to another machine."""
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob", "file"} and parts.hostname != "127.0.0.1":
            self.strays.append(request.url)

    def dialog(self, dialog: Dialog) -> None:
        """Record a dialog, and close it."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def error(self, error: object) -> None:
        """Record a script error, except JupyterLab's error when it removes an output a second time."""
        # the panel's script is loaded from a blob: URL, so an error with that URL is never JupyterLab's
        if _OF_LAB not in str(error) or "blob:" in getattr(error, "stack", "blob:"):
            self.errors.append(str(error))

    def attach(self, context: BrowserContext) -> Page:
        """Return a new page of a browser context, and record what the page must not do."""
        context.on("request", self.request)
        made = context.new_page()
        made.set_default_timeout(SLOW)
        made.on("dialog", self.dialog)
        made.on("pageerror", self.error)
        made.on("websocket", lambda socket: self.strays.append(socket.url) if "127.0.0.1" not in socket.url else None)
        return made


@pytest.fixture(scope="session")
def noted() -> Watch:
    """Return the record of all pages."""
    return Watch()


@pytest.fixture
def watch(noted: Watch) -> Iterator[Watch]:
    """Yield an empty record. After the test, require that no page sent a request elsewhere, opened a dialog or raised an error."""
    noted.strays, noted.dialogs, noted.errors = [], [], []
    yield noted
    assert Watch() == noted


@pytest.fixture
def page(context: BrowserContext, watch: Watch) -> Iterator[Page]:
    """Yield a new page for this test."""
    made = watch.attach(context)
    yield made
    made.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a JupyterLab server of a new folder."""
    with jupyter_lab(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def shared(lab: Server, browser: Browser, noted: Watch) -> Iterator[Desk]:
    """Yield a notebook in JupyterLab that all tests share."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield Desk(noted.attach(context), lab)
    context.close()


@pytest.fixture
def desk(shared: Desk, watch: Watch) -> Desk:
    """Return the shared notebook, reset to its initial state."""
    shared.clear()
    return shared
