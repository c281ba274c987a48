# SPDX-License-Identifier: Apache-2.0
"""Where secrets come from: a file or the environment, never an argument."""

import os
import ssl

from cosbench.driver.signature import MIN_SECRET
from cosbench.errors import ConfigError

SECRET = 'COSBENCH_SECRET'
TOKEN = 'COSBENCH_TOKEN'


def secret(path, variable):
    """Read a secret or token.

    :param path: of a file that has it, or None
    :param variable: of the environment that has it where there is no file
    :returns: bytes
    :raises ConfigError: if there is none, or it is too short
    """
    where = path or variable
    if path:
        try:
            with open(path, 'rb') as stream:
                found = stream.read(4096).strip()
        except OSError as err:
            raise ConfigError('the secret cannot be read from %s: %s' % (
                path, err.strerror)) from None
    else:
        found = os.environb.get(variable.encode(), b'').strip()
    if len(found) < MIN_SECRET:
        raise ConfigError('the secret in %s has %d characters: must be at '
                          'least %d, as of openssl rand -hex 16' % (
                              where, len(found), MIN_SECRET))
    return found


def server_tls(certificate, key):
    """Return what a server speaks TLS with.

    :param certificate, key: paths, or None
    :returns: an ``SSLContext``; None without a certificate
    :raises ConfigError: if they cannot be used
    """
    if not certificate:
        return None
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (OSError, ssl.SSLError) as err:
        raise ConfigError('the certificate %s cannot be used: %s' % (
            certificate, err)) from None
    return context


def client_tls(authority):
    """Return what a client checks a server's certificate with.

    :param authority: the path of a certificate to trust, such as the
        server's own; None: those of the system
    :returns: an ``SSLContext``
    """
    try:
        return ssl.create_default_context(cafile=authority)
    except (OSError, ssl.SSLError) as err:
        raise ConfigError('the certificate %s cannot be used: %s' % (
            authority, err)) from None
