"""Addresses and their checksums, typed data, signatures and call data: pure, without I/O.

The cryptographic libraries are loaded by the first function that needs one, so importing this package is cheap.
"""

TYPE_CHECKING = False
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

if not TYPE_CHECKING:  # a type checker sees the names above and no others
    from workbench.lazy import public_names

    __getattr__, __dir__ = public_names(__name__, __file__)
