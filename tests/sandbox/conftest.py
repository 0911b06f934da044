"""A fresh sandbox and a driver for each test of the package."""

import pytest

from tests.sandbox.driver import Api
from tests.service.mirror import Mirrored
from workbench.sandbox import Sandbox


@pytest.fixture(params=[Sandbox, Mirrored], ids=["in process", "over HTTP"])
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """Return a sandbox, or one that is compared with a twin behind HTTP, byte for byte."""
    made: Sandbox = request.param()
    return made


@pytest.fixture
def api(sandbox: Sandbox) -> Api:
    return Api(sandbox)


@pytest.fixture
def observed() -> Api:
    return Api(Sandbox(behavior="observed"))
