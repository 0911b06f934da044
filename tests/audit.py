"""List known advisories for the pinned packages: `python -m tests.audit`.

Exit code 1: advisories were found. Exit code 2: no package could be audited.
"""

import json
import subprocess
import sys
from pathlib import Path

PINS = Path(__file__).parents[1] / "requirements/dev.txt"


def main() -> int:
    """Print the advisories, or the reason why no package could be audited, and return the exit code."""
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--disable-pip",
        "--no-deps",
        "-f",
        "json",
        "--progress-spinner",
        "off",
        "-r",
        str(PINS),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"pip-audit could not run; nothing was audited:\n{done.stderr.strip()[-500:]}")
        return 2
    audited = [package for package in packages if "skip_reason" not in package]
    found = [(package, advisory) for package in audited for advisory in package["vulns"]]
    for package, advisory in found:
        print(
            f"{package['name']} {package['version']}: {advisory['id']}, fixed in {', '.join(advisory['fix_versions']) or 'no version'}"
        )
    print(f"{len(audited)} of {len(packages)} packages audited, {len(found)} advisories.")
    if not audited:
        print("The index has no advisories to ask; nothing was audited.")
        return 2
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
