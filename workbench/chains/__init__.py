"""Addresses and checksums, typed data, signatures and call data: pure functions without I/O.

Cryptographic libraries are imported on first use, so importing this package is cheap.
"""

from typing import TYPE_CHECKING

from workbench.lazy import public_names

if TYPE_CHECKING:
    from workbench.chains.addresses import AddressProblem as AddressProblem
    from workbench.chains.addresses import Chain as Chain
    from workbench.chains.addresses import Family as Family
    from workbench.chains.addresses import address_problems as address_problems
    from workbench.chains.addresses import chain_of as chain_of
    from workbench.chains.addresses import checksum_note as checksum_note
    from workbench.chains.addresses import has_checksum as has_checksum
    from workbench.chains.addresses import is_zero_address as is_zero_address
    from workbench.chains.addresses import same_address as same_address
    from workbench.chains.addresses import similar_addresses as similar_addresses
    from workbench.chains.calls import WithdrawCall as WithdrawCall
    from workbench.chains.calls import WithdrawParameters as WithdrawParameters
    from workbench.chains.calls import read_call_data as read_call_data
    from workbench.chains.calls import read_parameters as read_parameters
    from workbench.chains.calls import read_signature as read_signature
    from workbench.chains.calls import withdraw_call_data as withdraw_call_data
    from workbench.chains.calls import withdraw_parameters as withdraw_parameters
    from workbench.chains.calls import write_salt as write_salt
    from workbench.chains.calls import write_signature as write_signature
    from workbench.chains.messages import coordinator_typed_data as coordinator_typed_data
    from workbench.chains.messages import digest as digest
    from workbench.chains.messages import solana_message as solana_message
    from workbench.chains.messages import stellar_message as stellar_message
    from workbench.chains.messages import withdraw_typed_data as withdraw_typed_data
    from workbench.chains.values import eip55 as eip55
    from workbench.chains.values import keccak256 as keccak256
    from workbench.chains.values import public_address as public_address
    from workbench.chains.values import read_bytes as read_bytes
    from workbench.chains.values import recover as recover
    from workbench.chains.values import sign as sign
    from workbench.chains.values import sign_ed25519 as sign_ed25519
    from workbench.chains.values import verify_ed25519 as verify_ed25519

_NAMES = {
    "AddressProblem": "workbench.chains.addresses",
    "Chain": "workbench.chains.addresses",
    "Family": "workbench.chains.addresses",
    "WithdrawCall": "workbench.chains.calls",
    "WithdrawParameters": "workbench.chains.calls",
    "address_problems": "workbench.chains.addresses",
    "chain_of": "workbench.chains.addresses",
    "checksum_note": "workbench.chains.addresses",
    "coordinator_typed_data": "workbench.chains.messages",
    "digest": "workbench.chains.messages",
    "eip55": "workbench.chains.values",
    "has_checksum": "workbench.chains.addresses",
    "is_zero_address": "workbench.chains.addresses",
    "keccak256": "workbench.chains.values",
    "public_address": "workbench.chains.values",
    "read_bytes": "workbench.chains.values",
    "read_call_data": "workbench.chains.calls",
    "read_parameters": "workbench.chains.calls",
    "read_signature": "workbench.chains.calls",
    "recover": "workbench.chains.values",
    "same_address": "workbench.chains.addresses",
    "sign": "workbench.chains.values",
    "sign_ed25519": "workbench.chains.values",
    "similar_addresses": "workbench.chains.addresses",
    "solana_message": "workbench.chains.messages",
    "stellar_message": "workbench.chains.messages",
    "verify_ed25519": "workbench.chains.values",
    "withdraw_call_data": "workbench.chains.calls",
    "withdraw_parameters": "workbench.chains.calls",
    "withdraw_typed_data": "workbench.chains.messages",
    "write_salt": "workbench.chains.calls",
    "write_signature": "workbench.chains.calls",
}

if not TYPE_CHECKING:  # with `__getattr__`, a type checker would accept any name
    __getattr__, __dir__ = public_names(__name__, _NAMES)
