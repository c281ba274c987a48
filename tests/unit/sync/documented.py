# SPDX-License-Identifier: Apache-2.0
"""Worked examples, read out of PROTOCOL.md, so that they cannot drift."""

import os
import re

import swift_lightsync.sync

PATH = os.path.join(os.path.dirname(swift_lightsync.sync.__file__),
                    'PROTOCOL.md')


def protocol():
    with open(PATH, encoding='utf8') as document:
        return document.read()


def found(pattern, flags=re.M):
    """The groups of the only match of a pattern in PROTOCOL.md."""
    matches = re.findall(pattern, protocol(), flags)
    if len(matches) != 1:
        raise AssertionError('PROTOCOL.md has %d times %s'
                             % (len(matches), pattern))
    return matches[0]


def example_messages():
    """The bytes of the example's message, and of both answers to it."""
    lines = re.findall(r'^    (4c53594e[0-9a-f ]+?)(?:   answer: .*)?$',
                       protocol(), re.M)
    return [bytes.fromhex(line) for line in lines]
