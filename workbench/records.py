"""Records: the requests, answers and events of the interface as types, and the words of their members as enums.

def declined(answer: wb.records.SimulatedTransaction) -> bool:
    return answer.status is wb.records.TransactionStatus.DECLINED
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.interface.contracts import AccountDetails as AccountDetails
    from workbench.interface.contracts import IssuingContract as IssuingContract
    from workbench.interface.contracts import ListContracts as ListContracts
    from workbench.interface.contracts import Onramp as Onramp
    from workbench.interface.contracts import Signature as Signature
    from workbench.interface.contracts import SignWithdrawal as SignWithdrawal
    from workbench.interface.contracts import Token as Token
    from workbench.interface.contracts import WithdrawalSignature as WithdrawalSignature
    from workbench.interface.events import AnyEvent as AnyEvent
    from workbench.interface.events import CardLimit as CardLimit
    from workbench.interface.events import CardUpdated as CardUpdated
    from workbench.interface.events import Event as Event
    from workbench.interface.events import MicroDepositReceived as MicroDepositReceived
    from workbench.interface.events import Spend as Spend
    from workbench.interface.events import TransactionChanged as TransactionChanged
    from workbench.interface.events import UserUpdated as UserUpdated
    from workbench.interface.people import Address as Address
    from workbench.interface.people import BankingAddress as BankingAddress
    from workbench.interface.people import CompanyApplication as CompanyApplication
    from workbench.interface.people import CreatePaymentAccount as CreatePaymentAccount
    from workbench.interface.people import CreateUserApplication as CreateUserApplication
    from workbench.interface.people import DeletePaymentAccount as DeletePaymentAccount
    from workbench.interface.people import Deletion as Deletion
    from workbench.interface.people import ExternalFiatAccount as ExternalFiatAccount
    from workbench.interface.people import Link as Link
    from workbench.interface.people import LinkParams as LinkParams
    from workbench.interface.people import PaymentAccount as PaymentAccount
    from workbench.interface.people import UltimateBeneficialOwner as UltimateBeneficialOwner
    from workbench.interface.people import UpdateUbo as UpdateUbo
    from workbench.interface.people import UpdateUser as UpdateUser
    from workbench.interface.people import User as User
    from workbench.interface.transactions import Dispute as Dispute
    from workbench.interface.transactions import ListRewardsActivity as ListRewardsActivity
    from workbench.interface.transactions import RewardsActivity as RewardsActivity
    from workbench.interface.transactions import RewardsItem as RewardsItem
    from workbench.interface.transactions import SimulateAuthorization as SimulateAuthorization
    from workbench.interface.transactions import SimulatedTransaction as SimulatedTransaction
    from workbench.interface.transactions import SimulateRefund as SimulateRefund
    from workbench.interface.transactions import SimulateReversal as SimulateReversal
    from workbench.interface.transactions import UpdateDispute as UpdateDispute
    from workbench.interface.vocabulary import ApplicationStatus as ApplicationStatus
    from workbench.interface.vocabulary import BeneficiaryType as BeneficiaryType
    from workbench.interface.vocabulary import CompletionReason as CompletionReason
    from workbench.interface.vocabulary import DeclineReason as DeclineReason
    from workbench.interface.vocabulary import DisputeStatus as DisputeStatus
    from workbench.interface.vocabulary import DisputeUpdateStatus as DisputeUpdateStatus
    from workbench.interface.vocabulary import EventApplicationStatus as EventApplicationStatus
    from workbench.interface.vocabulary import MicroDepositRail as MicroDepositRail
    from workbench.interface.vocabulary import PaymentAccountType as PaymentAccountType
    from workbench.interface.vocabulary import RewardType as RewardType
    from workbench.interface.vocabulary import Role as Role
    from workbench.interface.vocabulary import SignatureStatus as SignatureStatus
    from workbench.interface.vocabulary import StatusChangeReason as StatusChangeReason
    from workbench.interface.vocabulary import TransactionStatus as TransactionStatus

_NAMES = {
    "AccountDetails": "workbench.interface.contracts",
    "Address": "workbench.interface.people",
    "ApplicationStatus": "workbench.interface.vocabulary",
    "BankingAddress": "workbench.interface.people",
    "BeneficiaryType": "workbench.interface.vocabulary",
    "CardLimit": "workbench.interface.events",
    "CardUpdated": "workbench.interface.events",
    "CompanyApplication": "workbench.interface.people",
    "CompletionReason": "workbench.interface.vocabulary",
    "CreatePaymentAccount": "workbench.interface.people",
    "CreateUserApplication": "workbench.interface.people",
    "DeclineReason": "workbench.interface.vocabulary",
    "DeletePaymentAccount": "workbench.interface.people",
    "Deletion": "workbench.interface.people",
    "Dispute": "workbench.interface.transactions",
    "DisputeStatus": "workbench.interface.vocabulary",
    "DisputeUpdateStatus": "workbench.interface.vocabulary",
    "Event": "workbench.interface.events",
    "EventApplicationStatus": "workbench.interface.vocabulary",
    "ExternalFiatAccount": "workbench.interface.people",
    "IssuingContract": "workbench.interface.contracts",
    "Link": "workbench.interface.people",
    "LinkParams": "workbench.interface.people",
    "ListContracts": "workbench.interface.contracts",
    "ListRewardsActivity": "workbench.interface.transactions",
    "MicroDepositRail": "workbench.interface.vocabulary",
    "MicroDepositReceived": "workbench.interface.events",
    "Onramp": "workbench.interface.contracts",
    "PaymentAccount": "workbench.interface.people",
    "PaymentAccountType": "workbench.interface.vocabulary",
    "RewardType": "workbench.interface.vocabulary",
    "RewardsActivity": "workbench.interface.transactions",
    "RewardsItem": "workbench.interface.transactions",
    "Role": "workbench.interface.vocabulary",
    "SignWithdrawal": "workbench.interface.contracts",
    "Signature": "workbench.interface.contracts",
    "SignatureStatus": "workbench.interface.vocabulary",
    "SimulateAuthorization": "workbench.interface.transactions",
    "SimulateRefund": "workbench.interface.transactions",
    "SimulateReversal": "workbench.interface.transactions",
    "SimulatedTransaction": "workbench.interface.transactions",
    "Spend": "workbench.interface.events",
    "StatusChangeReason": "workbench.interface.vocabulary",
    "Token": "workbench.interface.contracts",
    "TransactionChanged": "workbench.interface.events",
    "TransactionStatus": "workbench.interface.vocabulary",
    "UltimateBeneficialOwner": "workbench.interface.people",
    "UpdateDispute": "workbench.interface.transactions",
    "UpdateUbo": "workbench.interface.people",
    "UpdateUser": "workbench.interface.people",
    "User": "workbench.interface.people",
    "UserUpdated": "workbench.interface.events",
    "WithdrawalSignature": "workbench.interface.contracts",
}

if not TYPE_CHECKING:  # a type checker would take any name from `__getattr__`
    __getattr__, __dir__ = public_names(__name__, _NAMES)
