"""A self-signed certificate, for a sandbox that is served beyond this machine."""

import ipaddress
import os
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

_VALID = timedelta(days=398)


def self_signed(certfile: Path, keyfile: Path, names: Collection[str]) -> str:
    """Write a certificate for host names and its private key, unless a valid one is there; return its SHA-256 fingerprint.

    Args:
        certfile: File for the certificate; who connects trusts it by `ca_file`.
        keyfile: File for the key, readable by its owner alone.
        names: Host names and addresses that it is valid for.
    """
    now = datetime.now(UTC)
    wanted = x509.SubjectAlternativeName([_name(name) for name in sorted(set(names))])
    if certfile.exists() and keyfile.exists():
        found = x509.load_pem_x509_certificate(certfile.read_bytes())
        its_names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        if its_names == wanted and found.not_valid_after_utc > now:
            return _fingerprint(found)
    key = ec.generate_private_key(ec.SECP256R1())
    identifier = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "card issuing sandbox")])
    usage = x509.KeyUsage(
        digital_signature=True, key_cert_sign=True, crl_sign=True, content_commitment=False, key_encipherment=False,
        data_encipherment=False, key_agreement=False, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number(), now, now + _VALID)
        .add_extension(wanted, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(identifier, critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(identifier), critical=False)
        .sign(key, hashes.SHA256())
    )
    certfile.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    with os.fdopen(os.open(keyfile, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(pem)
    certfile.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    return _fingerprint(made)


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return x509.DNSName(name)


def _fingerprint(certificate: x509.Certificate) -> str:
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()
