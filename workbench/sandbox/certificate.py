"""A self-signed certificate, for a sandbox that is served beyond this machine."""

import ipaddress
from collections.abc import Collection
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from workbench.storage import make_folder, write_file

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
    with suppress(FileNotFoundError, ValueError, TypeError, x509.ExtensionNotFound):  # missing, or not a pair of ours
        found = x509.load_pem_x509_certificate(certfile.read_bytes())
        its_names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        its_key = serialization.load_pem_private_key(keyfile.read_bytes(), None).public_key()
        if its_names == wanted and found.not_valid_after_utc > now and found.public_key() == its_key:
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
    make_folder(certfile.parent)
    plain = serialization.NoEncryption()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    write_file(keyfile, pem)
    write_file(certfile, made.public_bytes(serialization.Encoding.PEM), private=False)
    return _fingerprint(made)


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name.strip("[]")))
    except ValueError:
        return x509.DNSName(name)


def _fingerprint(certificate: x509.Certificate) -> str:
    return certificate.fingerprint(hashes.SHA256()).hex(":").upper()
