"""Records: the requests, answers and events of the interface as types, and the words of their members as enums.

def declined(answer: wb.records.SimulatedTransaction) -> bool:
    return answer.status is wb.records.TransactionStatus.DECLINED
"""

TYPE_CHECKING = False
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
    from workbench.interface.rules import ApplicationStatus as ApplicationStatus
    from workbench.interface.rules import BeneficiaryType as BeneficiaryType
    from workbench.interface.rules import CompletionReason as CompletionReason
    from workbench.interface.rules import DeclineReason as DeclineReason
    from workbench.interface.rules import DisputeStatus as DisputeStatus
    from workbench.interface.rules import DisputeUpdateStatus as DisputeUpdateStatus
    from workbench.interface.rules import EventApplicationStatus as EventApplicationStatus
    from workbench.interface.rules import MicroDepositRail as MicroDepositRail
    from workbench.interface.rules import PaymentAccountType as PaymentAccountType
    from workbench.interface.rules import RewardType as RewardType
    from workbench.interface.rules import Role as Role
    from workbench.interface.rules import SignatureStatus as SignatureStatus
    from workbench.interface.rules import StatusChangeReason as StatusChangeReason
    from workbench.interface.rules import TransactionStatus as TransactionStatus
    from workbench.interface.transactions import Dispute as Dispute
    from workbench.interface.transactions import ListRewardsActivity as ListRewardsActivity
    from workbench.interface.transactions import RewardsActivity as RewardsActivity
    from workbench.interface.transactions import RewardsItem as RewardsItem
    from workbench.interface.transactions import SimulateAuthorization as SimulateAuthorization
    from workbench.interface.transactions import SimulatedTransaction as SimulatedTransaction
    from workbench.interface.transactions import SimulateRefund as SimulateRefund
    from workbench.interface.transactions import SimulateReversal as SimulateReversal
    from workbench.interface.transactions import UpdateDispute as UpdateDispute

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
