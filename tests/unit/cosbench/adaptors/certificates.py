# SPDX-License-Identifier: Apache-2.0
"""A certificate for 127.0.0.1 that no authority has signed."""

import datetime
import ipaddress
import os
import ssl

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec


def make(directory, address='127.0.0.1'):
    """:param directory: for its file
    :param address: the server that it is for
    :returns: (path of the certificate, the server's SSL context)
    """
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(
        x509.NameOID.COMMON_NAME, 'test')])
    now = datetime.datetime.now(datetime.timezone.utc)
    day = datetime.timedelta(days=1)
    certificate = x509.CertificateBuilder(
        name, name, key.public_key(), x509.random_serial_number(),
        now - day, now + day).add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(
                ipaddress.ip_address(address))]), False).sign(
                    key, hashes.SHA256())
    public = os.path.join(directory, 'certificate.pem')
    secret = os.path.join(directory, 'key.pem')
    with open(public, 'wb') as output:
        output.write(certificate.public_bytes(serialization.Encoding.PEM))
    with open(secret, 'wb') as output:
        output.write(key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, secret)
    return public, context
