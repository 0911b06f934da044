"""The lock under which a forked process replaces what it inherited.

A fork copies only the thread that forks. The lock is therefore taken before each fork and released in both processes,
so that no other thread holds it in the copy.
"""

import os
import threading

INHERITING = threading.RLock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=INHERITING.acquire, after_in_parent=INHERITING.release, after_in_child=INHERITING.release
    )
