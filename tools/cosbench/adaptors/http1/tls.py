# SPDX-License-Identifier: Apache-2.0
"""Which servers are trusted."""

import ssl

from cosbench.errors import ConfigError


def trust(scheme, authorities=None, verify=True):
    """
    Return what checks the certificates of a server.

    :param scheme: of the server's URL
    :param authorities: a PEM file with certificates that are trusted, also
        a self-signed one of the server; None: those of the system
    :param verify: False: any certificate is as good
    :returns: an SSL context, or None for plain HTTP
    :raises ConfigError: if the file has no certificates
    """
    if scheme != 'https':
        return None
    try:
        context = ssl.create_default_context(cafile=authorities)
    except (OSError, ssl.SSLError) as err:
        raise ConfigError('cacert=%r: must be a PEM file with certificates '
                          '(%s)' % (authorities, err)) from None
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
