"""Addresses and checksums, typed data, signatures and call data: pure functions without I/O.

Cryptographic libraries are imported on first use, so importing this package is cheap.
"""

from typing import TYPE_CHECKING

from workbench.base.lazy import public_names

if TYPE_CHECKING:
    from workbench.service.chains.addresses import AddressProblem as AddressProblem
    from workbench.service.chains.addresses import Chain as Chain
    from workbench.service.chains.addresses import Family as Family
    from workbench.service.chains.addresses import address_problems as address_problems
    from workbench.service.chains.addresses import chain_of as chain_of
    from workbench.service.chains.addresses import checksum_note as checksum_note
    from workbench.service.chains.addresses import has_checksum as has_checksum
    from workbench.service.chains.addresses import is_zero_address as is_zero_address
    from workbench.service.chains.addresses import same_address as same_address
    from workbench.service.chains.addresses import similar_addresses as similar_addresses
    from workbench.service.chains.calls import WithdrawCall as WithdrawCall
    from workbench.service.chains.calls import WithdrawParameters as WithdrawParameters
    from workbench.service.chains.calls import read_call_data as read_call_data
    from workbench.service.chains.calls import read_parameters as read_parameters
    from workbench.service.chains.calls import read_signature as read_signature
    from workbench.service.chains.calls import withdraw_call_data as withdraw_call_data
    from workbench.service.chains.calls import withdraw_parameters as withdraw_parameters
    from workbench.service.chains.calls import write_salt as write_salt
    from workbench.service.chains.calls import write_signature as write_signature
    from workbench.service.chains.messages import coordinator_typed_data as coordinator_typed_data
    from workbench.service.chains.messages import digest as digest
    from workbench.service.chains.messages import solana_message as solana_message
    from workbench.service.chains.messages import stellar_message as stellar_message
    from workbench.service.chains.messages import withdraw_typed_data as withdraw_typed_data
    from workbench.service.chains.values import eip55 as eip55
    from workbench.service.chains.values import keccak256 as keccak256
    from workbench.service.chains.values import public_address as public_address
    from workbench.service.chains.values import read_bytes as read_bytes
    from workbench.service.chains.values import recover as recover
    from workbench.service.chains.values import sign as sign
    from workbench.service.chains.values import sign_ed25519 as sign_ed25519
    from workbench.service.chains.values import verify_ed25519 as verify_ed25519

_NAMES = {
    "AddressProblem": "workbench.service.chains.addresses",
    "Chain": "workbench.service.chains.addresses",
    "Family": "workbench.service.chains.addresses",
    "WithdrawCall": "workbench.service.chains.calls",
    "WithdrawParameters": "workbench.service.chains.calls",
    "address_problems": "workbench.service.chains.addresses",
    "chain_of": "workbench.service.chains.addresses",
    "checksum_note": "workbench.service.chains.addresses",
    "coordinator_typed_data": "workbench.service.chains.messages",
    "digest": "workbench.service.chains.messages",
    "eip55": "workbench.service.chains.values",
    "has_checksum": "workbench.service.chains.addresses",
    "is_zero_address": "workbench.service.chains.addresses",
    "keccak256": "workbench.service.chains.values",
    "public_address": "workbench.service.chains.values",
    "read_bytes": "workbench.service.chains.values",
    "read_call_data": "workbench.service.chains.calls",
    "read_parameters": "workbench.service.chains.calls",
    "read_signature": "workbench.service.chains.calls",
    "recover": "workbench.service.chains.values",
    "same_address": "workbench.service.chains.addresses",
    "sign": "workbench.service.chains.values",
    "sign_ed25519": "workbench.service.chains.values",
    "similar_addresses": "workbench.service.chains.addresses",
    "solana_message": "workbench.service.chains.messages",
    "stellar_message": "workbench.service.chains.messages",
    "verify_ed25519": "workbench.service.chains.values",
    "withdraw_call_data": "workbench.service.chains.calls",
    "withdraw_parameters": "workbench.service.chains.calls",
    "withdraw_typed_data": "workbench.service.chains.messages",
    "write_salt": "workbench.service.chains.calls",
    "write_signature": "workbench.service.chains.calls",
}

if not TYPE_CHECKING:  # a type checker that sees `__getattr__` accepts every name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
