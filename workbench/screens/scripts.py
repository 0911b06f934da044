"""JavaScript modules of forms and panels."""

import re
from pathlib import Path

FOCUS = Path(__file__).parent / "forms" / "focus.js"
"""Module that preserves the keyboard focus in forms and in the panel."""


def bundle(*modules: Path) -> str:
    """Return JavaScript modules joined into one module, which exports only the function `render` for a widget."""
    texts = (module.read_text(encoding="utf-8") for module in modules)
    return re.sub(r"^(import|export) .*\n", "", "".join(texts), flags=re.MULTILINE) + "export default { render };"
