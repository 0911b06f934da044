"""Run the cells of a notebook in a limited process: `python -m workbench.course.classroom.notebook_process FOLDER`.

The notebook is `notebook.ipynb` in the folder, the only place that the process may write to. Its output and files are
ignored: only what the class server received counts.
"""

import ctypes
import json
import os
import site
import sys
from pathlib import Path

MEMORY = 3 * 2**30  # bytes
FILE_BYTES = 256 * 2**20  # of one file
OPEN_FILES = 512
NOTEBOOK = "notebook.ipynb"
# System calls of Landlock, by which a Linux process gives up access to files; the same numbers on all machines.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_NO_NEW_PRIVILEGES = 38
_READ = 0b1101  # execute, read a file, list a folder
_ALL = (1 << 13) - 1  # the rights of the first version
_SIGNALS = 0b10
_DEVICES = ("/dev/null", "/dev/zero", "/dev/urandom", "/dev/random", "/dev/full")
_SYSTEM = (
    "/usr",
    "/lib",
    "/lib64",
    "/bin",
    "/etc",
    "/opt",
    "/proc/self",
    "/proc/cpuinfo",
    "/proc/meminfo",
    "/proc/stat",
)


def limit(seconds: int) -> None:
    """Limit processor time, memory and files of this process and its children, if the system supports it."""
    if sys.platform == "win32":
        return
    import resource

    limits = {
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_DATA: MEMORY,
        resource.RLIMIT_FSIZE: FILE_BYTES,
        resource.RLIMIT_NOFILE: OPEN_FILES,
        resource.RLIMIT_CORE: 0,
    }
    for kind, value in limits.items():
        hard = resource.getrlimit(kind)[1]
        allowed = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (allowed, allowed))


def keeps_signals() -> bool:
    """Return whether the system can confine signals to a process and its children: Linux 6.12 or later with
    Landlock.
    """
    if sys.platform != "linux":
        return False
    version: int = ctypes.CDLL(None).syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), 1)
    return version >= 6


def confine(folder: Path) -> bool:
    """Restrict this process to reading Python's and the system's files, writing one folder, and signaling its children.

    Returns:
        Whether the system supports it; signals are confined if `keeps_signals()`.
    """
    if sys.platform != "linux":
        return False
    system = ctypes.CDLL(None, use_errno=True)
    # Rights of files, rights of the network, and what may not leave this process and its children.
    attributes = (ctypes.c_uint64 * 3)(_ALL, 0, _SIGNALS)
    size = 24 if keeps_signals() else 8
    ruleset = system.syscall(_CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return False
    package = Path(__file__).parents[2]  # workbench
    readable = {*_SYSTEM, sys.prefix, sys.base_prefix, str(package), *site.getsitepackages()}
    allowed = (
        [(folder, _READ) for folder in readable] + [(device, _READ | 2) for device in _DEVICES] + [(str(folder), _ALL)]
    )
    for path, rights in allowed:
        try:
            opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        if not Path(path).is_dir():
            rights &= 0b111  # listing and making are for folders
        beneath = rights.to_bytes(8, sys.byteorder) + opened.to_bytes(4, sys.byteorder)
        system.syscall(_ADD_RULE, ruleset, 1, beneath, 0)
        os.close(opened)
    unprivileged: int = system.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    restricted: int = system.syscall(_RESTRICT_SELF, ruleset, 0)
    return unprivileged == 0 and restricted == 0


def main() -> None:
    """Run the notebook in the folder given on the command line; a failing cell does not stop the next one."""
    folder, seconds = Path(sys.argv[1]), int(sys.argv[2])
    cells = json.loads((folder / NOTEBOOK).read_text(encoding="utf-8"))
    limit(seconds)
    confine(folder)
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell.instance()
    for source in cells:
        shell.run_cell(source, store_history=False)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
