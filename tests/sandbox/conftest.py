"""Fixtures with a new sandbox and a driver for each test of this folder."""

import pytest

from tests.sandbox.driver import Api
from tests.service.mirror import Mirrored
from workbench.sandbox import Sandbox


@pytest.fixture(params=[Sandbox, Mirrored], ids=["in process", "over HTTP"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Return a sandbox, or a sandbox that compares its answers with a served twin byte for byte."""
    made: Sandbox = request.param()
    return made


@pytest.fixture
def api(sandbox: Sandbox) -> Api:
    return Api(sandbox)


@pytest.fixture
def observed() -> Api:
    return Api(Sandbox(behavior="observed"))
