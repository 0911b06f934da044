"""A fixture with environments of the built wheel and one extra each. All test processes share the environments."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from filelock import FileLock

from tests import environments


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Return a function that creates an environment with the built wheel and one extra ("" for none) and returns its Python."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "environments"
    folder.mkdir(exist_ok=True)

    def make(extra: str) -> Path:
        made = folder / (extra or "base")
        python = made / "bin" / "python"
        with FileLock(folder / "lock"):
            if not (made / "done").exists():
                wheels = list((folder / "wheel").glob("*.whl")) or [environments.wheel(folder / "wheel")]
                environments.make(made, environments.closure([extra] if extra else []))
                environments.install(python, wheels[0])
                (made / "done").touch()
        return python

    return make
