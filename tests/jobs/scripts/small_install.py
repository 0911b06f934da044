"""Install only the base: no library of an extra is installed, and `import workbench` does not import the client's libraries.

Needs: base.
"""

import importlib.metadata
import subprocess
import sys

installed = {distribution.name.lower() for distribution in importlib.metadata.distributions()}
assert len(installed) <= 30, sorted(installed)
assert not installed & {"pandas", "numpy", "matplotlib", "ipywidgets", "jupyterlab", "uvicorn", "pytest"}

CODE = "import sys; before = set(sys.modules); import workbench; print(*sorted(set(sys.modules) - before))"
loaded = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True).stdout.split()
assert "workbench" in loaded
assert not {"httpx", "attrs", "attr", "cattrs", "cyclopts", "sqlite3"} & set(loaded), loaded
