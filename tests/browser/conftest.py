"""Chromium and JupyterLab for the browser tests. One server for a session; nothing may leave this machine."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import attrs
import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, Request, expect

from tests.browser.lab import CHROMIUM, FLAGS, SLOW, Desk, Server, jupyter_lab


@pytest.fixture(scope="session")
def browser_type_launch_args() -> dict[str, object]:
    """Start the Chromium of the system, headless; it can reach this machine alone."""
    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} is not installed; CONTRIBUTING.md says how")
    return {"executable_path": CHROMIUM, "args": list(FLAGS), "headless": True}


@pytest.fixture(scope="session")
def browser_context_args() -> dict[str, object]:
    """Show pages on a small laptop's screen."""
    return {"viewport": {"width": 1280, "height": 900}}


expect.set_options(timeout=SLOW / 2)  # generous, since other processes may use the two cores


_OF_LAB = "Failed to execute 'removeChild' on 'Node'"


@attrs.define(slots=False)  # Playwright sets attributes on an object whose methods handle events
class Watch:
    """What a page did that it should not have: requests that left this machine, dialogs, errors."""

    strays: list[str] = attrs.field(factory=list)
    dialogs: list[str] = attrs.field(factory=list)
    errors: list[str] = attrs.field(factory=list)

    def request(self, request: Request) -> None:
        """Note a request that is not for this machine."""
        parts = urlsplit(request.url)
        if parts.scheme not in {"data", "blob", "file"} and parts.hostname != "127.0.0.1":
            self.strays.append(request.url)

    def dialog(self, dialog: Dialog) -> None:
        """Note a dialog, and close it."""
        self.dialogs.append(dialog.message)
        dialog.dismiss()

    def error(self, error: object) -> None:
        """Note an error of a script, except one of JupyterLab: it may remove an output that is already gone."""
        # the panel's script is loaded from a blob: URL, so an error with that URL is never JupyterLab's
        if _OF_LAB not in str(error) or "blob:" in getattr(error, "stack", "blob:"):
            self.errors.append(str(error))

    def attach(self, context: BrowserContext) -> Page:
        """Return a new page of a browser's context, of which everything is noted."""
        context.on("request", self.request)
        made = context.new_page()
        made.set_default_timeout(SLOW)
        made.on("dialog", self.dialog)
        made.on("pageerror", self.error)
        made.on("websocket", lambda socket: self.strays.append(socket.url) if "127.0.0.1" not in socket.url else None)
        return made


@pytest.fixture(scope="session")
def noted() -> Watch:
    """Return what is noted of all pages."""
    return Watch()


@pytest.fixture
def watch(noted: Watch) -> Iterator[Watch]:
    """Yield what is noted in this test; in the end no request left this machine, no dialog opened, no script failed."""
    noted.strays, noted.dialogs, noted.errors = [], [], []
    yield noted
    assert Watch() == noted


@pytest.fixture
def page(context: BrowserContext, watch: Watch) -> Iterator[Page]:
    """Yield a page of this test alone."""
    made = watch.attach(context)
    yield made
    made.close()


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield JupyterLab, serving a folder of its own."""
    with jupyter_lab(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="session")
def shared(lab: Server, browser: Browser, noted: Watch) -> Iterator[Desk]:
    """Yield a notebook in JupyterLab that is opened once."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    yield Desk(noted.attach(context), lab)
    context.close()


@pytest.fixture
def desk(shared: Desk, watch: Watch) -> Desk:
    """Return the shared notebook, cleared."""
    shared.clear()
    return shared
