"""Tests of an application that uses the service: sessions that cost nothing, assertions that explain, and coverage.

pytest finds the fixtures by itself where the package is installed; see docs/testing.md.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.sequences.comparing import compare_recording as compare_recording
    from workbench.sequences.exports import Recording as Recording
    from workbench.sequences.exports import record as record
    from workbench.sequences.exports import replay as replay
    from workbench.testing.exploring import MONEY as MONEY
    from workbench.testing.exploring import Exploration as Exploration
    from workbench.testing.exploring import explore as explore
    from workbench.testing.exploring import sometimes as sometimes
    from workbench.testing.loop import NotSimulated as NotSimulated
    from workbench.testing.sessions import Coverage as Coverage
    from workbench.testing.sessions import assert_balance as assert_balance
    from workbench.testing.sessions import assert_events as assert_events
    from workbench.testing.sessions import assert_requests as assert_requests
    from workbench.testing.sessions import session as session
    from workbench.testing.universe import Universe as Universe

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
