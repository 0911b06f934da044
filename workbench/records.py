"""Record types of answers and events, and the enums of their values.

def declined(answer: wb.records.SimulatedTransaction) -> bool:
    return answer.status is wb.records.TransactionStatus.DECLINED

`__all__` of each interface module lists the names.
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.service.interface.contracts import *  # noqa: F403
    from workbench.service.interface.events import *  # noqa: F403
    from workbench.service.interface.people import *  # noqa: F403
    from workbench.service.interface.transactions import *  # noqa: F403
    from workbench.service.interface.vocabulary import *  # noqa: F403
else:  # a type checker that sees `__getattr__` accepts every name
    from workbench.service.interface import contracts, events, people, transactions, vocabulary

    _NAMES = {
        name: module.__name__
        for module in (contracts, events, people, transactions, vocabulary)
        for name in module.__all__
    }
    __getattr__, __dir__ = public_names(__name__, _NAMES)
