"""Plugin of pytest: httpx2 and httpcore2 under the names of httpx and httpcore, as a user has them who moves to these."""

import sys

import httpcore2
import httpx2

sys.modules["httpx"] = httpx2
sys.modules["httpcore"] = httpcore2
