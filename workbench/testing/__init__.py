"""Test applications that use the service: sandbox sessions, simulated runs and corpora.

pytest discovers the fixtures of the installed package automatically; see docs/testing.md.
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.testing.corpus import Corpus as Corpus
    from workbench.testing.exploring import MONEY as MONEY
    from workbench.testing.exploring import explore as explore
    from workbench.testing.http_application import HttpApplication as HttpApplication
    from workbench.testing.recording import record as record
    from workbench.testing.sessions import session as session
    from workbench.testing.universe import Universe as Universe

_NAMES = {
    "Corpus": "workbench.testing.corpus",
    "HttpApplication": "workbench.testing.http_application",
    "MONEY": "workbench.testing.exploring",
    "Universe": "workbench.testing.universe",
    "explore": "workbench.testing.exploring",
    "record": "workbench.testing.recording",
    "session": "workbench.testing.sessions",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
