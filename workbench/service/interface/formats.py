"""Rules shared by several fields: identifiers, addresses, lengths and amounts. Source: Limits."""

from decimal import Decimal

from workbench.base.schema.fields import Rule

Number = int | Decimal
"""A JSON number, read exactly."""
ID = Rule(format="uuid", says="a UUID, such as 3f2a0b1c-…")
EVM_ADDRESS = Rule(
    chain_address=True, pattern=r"^0x[0-9a-fA-F]{40}$", says="an EVM address: 0x and 40 hexadecimal digits"
)
SOLANA_ADDRESS = Rule(
    chain_address=True, pattern=r"^[1-9A-HJ-NP-Za-km-z]{32,44}$", says="a Solana address: 32 to 44 base58 characters"
)
STELLAR_ADDRESS = Rule(
    chain_address=True,
    pattern=r"^(?:[GC][A-Z2-7]{55}|M[A-Z2-7]{68})$",
    says="a Stellar address: G or C and 55 characters, or M and 68 characters, from A-Z and 2-7",
)
WALLET = Rule(
    chain_address=True,
    pattern=r"^(0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44})$",
    says="an EVM address (0x and 40 hexadecimal digits) or a Solana address (32 to 44 base58 characters)",
)
CHAIN_ADDRESS = Rule(
    chain_address=True,
    pattern=r"^(?:0x[0-9a-fA-F]{40}|[1-9A-HJ-NP-Za-km-z]{32,44}|[GC][A-Z2-7]{55}|M[A-Z2-7]{68})$",
    says="an EVM, Solana or Stellar address",
)
CENTS = Rule(minimum=0, unit="cents")
MOMENT = Rule(format="date-time")
PERSON_NAME = Rule(max_length=50, format="name")
EMAIL = Rule(format="email")
COUNTRY = Rule(min_length=2, max_length=2)
SSN = r"^[0-9]{9}$"
PHONE_COUNTRY_CODE = Rule(min_length=1, max_length=3, pattern=r"^[0-9]+$", says="digits only")
PHONE_NUMBER = Rule(min_length=1, max_length=15, pattern=r"^[0-9]+$", says="digits only", format="phone")
EXTERNAL_ID = Rule(min_length=1, max_length=255)
SOURCE_KEY = Rule(min_length=1, max_length=24)
NICKNAME = Rule(max_length=64)
ACCOUNT_NUMBER = Rule(format="account-number")
TEXT_EVIDENCE = Rule(max_length=65535, format="long-text")
DIGITS = Rule(pattern=r"^[0-9]+$", max_length=78, says='whole digits as text, such as "2500"')

_NO_MINOR_UNIT = "BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF"
_THREE_DIGITS = "BHD IQD JOD KWD LYD OMR TND"
_MINOR_DIGITS = {
    **dict.fromkeys(_NO_MINOR_UNIT.split(), 0), **dict.fromkeys(_THREE_DIGITS.split(), 3), "CLF": 4, "UYW": 4
}  # fmt: skip


def minor_digits(currency: str | None) -> int:
    """Return the number of decimal places of a currency (ISO 4217): 2 for USD, 0 for JPY."""
    return _MINOR_DIGITS.get((currency or "USD").upper(), 2)
