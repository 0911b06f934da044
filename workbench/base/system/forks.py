"""Lock for short changes of shared state, and for replacing inherited connections and locks in a forked process.

A fork copies only the thread that forks. The lock is therefore acquired before each fork and released in both
processes, so that it is not held in the forked process by a thread that does not exist there.
"""

import os
import threading

INHERITING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=INHERITING.acquire, after_in_parent=INHERITING.release, after_in_child=INHERITING.release
    )
