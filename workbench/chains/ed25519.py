"""Ed25519, the signatures of Solana and Stellar.

Signing is here for the sandbox and its teaching wallet alone, with throw-away keys made from a seed; nothing in the
workbench asks for a key of a real wallet.
"""

from workbench.chains.byte_forms import Octets, octets
from workbench.errors import hide_arguments


def ed25519_public_key(secret: bytes) -> bytes:
    """Return the 32-byte public key of a 32-byte throw-away seed."""
    from nacl.bindings import crypto_sign_seed_keypair

    public, _ = crypto_sign_seed_keypair(secret)
    return public


def sign_ed25519(message: bytes, secret: bytes) -> bytes:
    """Sign with a throw-away seed (sandbox and teaching wallet only); gives 64 bytes."""
    from nacl.signing import SigningKey

    return SigningKey(secret).sign(message).signature


@hide_arguments
def verify_ed25519(public_key: Octets, message: bytes, signature: Octets) -> bool:
    """Say whether a signature fits; keys of small order and non-canonical signatures never do.

    Raises:
        InvalidRequest: The key is not 32 bytes or the signature not 64.
    """
    key = octets(public_key, 32, "publicKey")
    signed = octets(signature, 64, "signature")
    from nacl.exceptions import BadSignatureError
    from nacl.signing import VerifyKey

    try:
        VerifyKey(key).verify(message, signed)
    except BadSignatureError:
        return False
    return True
