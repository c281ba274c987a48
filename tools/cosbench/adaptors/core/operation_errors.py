# SPDX-License-Identifier: Apache-2.0
"""The failure of one operation, and the classes that reports count."""

#: The classes besides ``http NNN``, and what each means.
KINDS = {
    'timeout': 'no byte came or went for the time that is allowed',
    'connect': 'no connection to the server',
    'tls': 'no TLS with the server: its certificate, its protocol',
    'closed': 'the server closed the connection before the response ended',
    'protocol': 'what the server sent is no response in HTTP/1.1',
    'auth': 'no token: the login failed',
    'partial': 'another part of the object than was asked for, or only some '
               'of what was to be deleted',
    'unsupported': 'the adaptor has no such operation',
    'mock': 'what the mock adaptor was asked to fail with',
}


class OperationError(Exception):
    """An operation that failed.

    :param kind: ``http NNN`` or one of ``KINDS``
    :param reason: one line for a log
    """

    def __init__(self, kind: str, reason: str = '') -> None:
        super().__init__('%s: %s' % (kind, reason) if reason else kind)
        self.kind = kind
        self.reason = reason
