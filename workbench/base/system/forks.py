"""The lock for short changes of shared state, and for the replacement of what a forked process inherited.

A fork copies only the thread that forks. The lock is therefore taken before each fork and released in both processes,
so that no other thread holds it in the copy, and no change is half made there.
"""

import os
import threading

INHERITING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=INHERITING.acquire, after_in_parent=INHERITING.release, after_in_child=INHERITING.release
    )
