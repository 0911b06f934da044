"""Read the rules of an operation at the prompt and in Python.

Needs: base.
"""

import subprocess
import sys
from pathlib import Path

import workbench as wb

done = subprocess.run(
    [str(Path(sys.executable).with_name("workbench")), "docs", "simulate-refund"],
    capture_output=True,
    text=True,
    check=True,
)
assert "transaction" in done.stdout
assert "Args" in wb.connect().simulate_refund.__doc__ or "transaction_id" in wb.connect().simulate_refund.__doc__
