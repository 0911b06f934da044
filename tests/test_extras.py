"""A missing optional library is named with the command that installs it."""

import subprocess
import sys

import pytest


@pytest.mark.slow
@pytest.mark.parametrize(
    "library, extra, use",
    [
        ("pandas", "tables", "wb.to_frame"),
        ("matplotlib", "tables", "wb.charts.points_chart"),
        ("ipywidgets", "lab", "wb.browse"),
    ],
)
def test_a_missing_extra_is_named(library: str, extra: str, use: str) -> None:
    """The base install works without it; what needs it says what to install."""
    code = (
        f"import sys; sys.modules[{library!r}] = None\n"
        "import workbench as wb\n"
        "assert wb.connect().list_contracts()\n"
        f"try:\n    {use}\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == f"{library} is not installed. Run: pip install 'card-issuing-workbench[{extra}]'\n"
