"""Records: the requests, answers and events of the interface as types, and the words of their members as enums.

def declined(answer: wb.records.SimulatedTransaction) -> bool:
    return answer.status is wb.records.TransactionStatus.DECLINED
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.interface.contracts import IssuingContract as IssuingContract
    from workbench.interface.contracts import WithdrawalSignature as WithdrawalSignature
    from workbench.interface.events import AnyEvent as AnyEvent
    from workbench.interface.events import CardUpdated as CardUpdated
    from workbench.interface.events import Event as Event
    from workbench.interface.events import MicroDepositReceived as MicroDepositReceived
    from workbench.interface.events import Spend as Spend
    from workbench.interface.events import TransactionChanged as TransactionChanged
    from workbench.interface.events import UserUpdated as UserUpdated
    from workbench.interface.people import CompanyApplication as CompanyApplication
    from workbench.interface.people import PaymentAccount as PaymentAccount
    from workbench.interface.people import UltimateBeneficialOwner as UltimateBeneficialOwner
    from workbench.interface.people import User as User
    from workbench.interface.transactions import Dispute as Dispute
    from workbench.interface.transactions import RewardsActivity as RewardsActivity
    from workbench.interface.transactions import SimulatedTransaction as SimulatedTransaction
    from workbench.interface.vocabulary import ApplicationStatus as ApplicationStatus
    from workbench.interface.vocabulary import CompletionReason as CompletionReason
    from workbench.interface.vocabulary import DeclineReason as DeclineReason
    from workbench.interface.vocabulary import DisputeStatus as DisputeStatus
    from workbench.interface.vocabulary import EventApplicationStatus as EventApplicationStatus
    from workbench.interface.vocabulary import SignatureStatus as SignatureStatus
    from workbench.interface.vocabulary import TransactionStatus as TransactionStatus

_NAMES = {
    "ApplicationStatus": "workbench.interface.vocabulary",
    "CardUpdated": "workbench.interface.events",
    "CompanyApplication": "workbench.interface.people",
    "CompletionReason": "workbench.interface.vocabulary",
    "DeclineReason": "workbench.interface.vocabulary",
    "Dispute": "workbench.interface.transactions",
    "DisputeStatus": "workbench.interface.vocabulary",
    "Event": "workbench.interface.events",
    "EventApplicationStatus": "workbench.interface.vocabulary",
    "IssuingContract": "workbench.interface.contracts",
    "MicroDepositReceived": "workbench.interface.events",
    "PaymentAccount": "workbench.interface.people",
    "RewardsActivity": "workbench.interface.transactions",
    "SignatureStatus": "workbench.interface.vocabulary",
    "SimulatedTransaction": "workbench.interface.transactions",
    "Spend": "workbench.interface.events",
    "TransactionChanged": "workbench.interface.events",
    "TransactionStatus": "workbench.interface.vocabulary",
    "UltimateBeneficialOwner": "workbench.interface.people",
    "User": "workbench.interface.people",
    "UserUpdated": "workbench.interface.events",
    "WithdrawalSignature": "workbench.interface.contracts",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
