"""The hash function of the EVM chains."""


def keccak256(data: bytes) -> bytes:
    """Return the Keccak-256 hash (the original padding, not SHA3-256)."""
    from Crypto.Hash import keccak  # loaded when first used

    hashed: bytes = keccak.new(digest_bits=256, data=data).digest()
    return hashed
