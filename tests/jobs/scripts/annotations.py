"""Import classes and enums for annotations.

Needs: base.
"""

import typing

import workbench as wb


def declined(answer: wb.records.SimulatedTransaction, event: wb.records.AnyEvent) -> bool:
    return answer.status is wb.records.TransactionStatus.DECLINED


assert typing.get_type_hints(declined)["answer"] is wb.records.SimulatedTransaction
assert wb.__version__ == "0.3.0"
