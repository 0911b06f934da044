"""Get keys from a command and from the keyring: no file, message or output contains them.

Needs: server.
"""

import json
import os
import sys
import types
from pathlib import Path

import workbench as wb

KEY = "key-of-the-vault-0123456789"


def asking(code):
    return f"key_command = {json.dumps([sys.executable, '-c', code])}"


Path("key.txt").write_text(KEY)  # this file takes the place of a vault
commands = {
    "vault": asking("print(open('key.txt').read())"),
    "ring": "",
    "broken": asking("print(open('key.txt').read()); raise SystemExit(3)"),
}
with wb.Sandbox(api_key=KEY).serve() as url:
    profiles = [
        f'[profiles.{name}]\nbase_url = "{url}/v1"\nenvironment = "sandbox"\n{line}' for name, line in commands.items()
    ]
    Path("profiles.toml").write_text("\n".join(profiles))
    os.environ["WORKBENCH_CONFIG"] = str(Path("profiles.toml").resolve())
    with wb.connect("vault") as api:
        assert len(api.list_contracts()) == 3
        assert KEY not in f"{api!r} {api.info()}"
    sys.modules["keyring"] = types.SimpleNamespace(get_password=lambda *asked: KEY if asked[1] == "ring" else None)
    with wb.connect("ring") as api:
        assert len(api.list_contracts()) == 3
    try:
        wb.connect("broken")
    except wb.errors.InvalidProfile as error:
        assert "ended with status 3" in str(error), error
        assert KEY not in str(error)
    else:
        raise AssertionError("a command that fails gave a key")
