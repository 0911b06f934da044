"""Pytest plugin that makes httpx2 and httpcore2 available as httpx and httpcore, as for users who have migrated."""

import sys

import httpcore2
import httpx2

sys.modules["httpx"] = httpx2
sys.modules["httpcore"] = httpcore2
