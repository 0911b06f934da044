"""Prove that a webhook handler is right: a month of traffic with everything that goes wrong, and a verdict.

wb.chaos.run(make_handler)                  # sends duplicates, reordered, forged and unknown events, restarts the handler
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from workbench.chaos.campaign import Breach as Breach
    from workbench.chaos.campaign import HttpHandler as HttpHandler
    from workbench.chaos.campaign import Verdict as Verdict
    from workbench.chaos.campaign import load as load
    from workbench.chaos.campaign import run as run
    from workbench.chaos.traffic import KEY as KEY
    from workbench.chaos.traffic import Plan as Plan
    from workbench.chaos.traffic import Step as Step

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
