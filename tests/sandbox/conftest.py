"""A fresh sandbox and a driver for each test of the room."""

import pytest

from tests.sandbox.driver import Api
from workbench.sandbox import Sandbox


@pytest.fixture
def sandbox() -> Sandbox:
    return Sandbox()


@pytest.fixture
def api(sandbox: Sandbox) -> Api:
    return Api(sandbox)


@pytest.fixture
def observed() -> Api:
    return Api(Sandbox(profile="observed"))
