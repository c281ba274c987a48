# SPDX-License-Identifier: Apache-2.0
"""The generated code is what the generator makes of index.proto."""

import os
import subprocess
import sys
import tempfile
import unittest

import swift_losf
from swift_losf.index import index_pb2
from swift_losf.index.index_service import IndexService

PACKAGE = os.path.join(os.path.dirname(swift_losf.__file__), 'index')


def code_of(path):
    """:returns: the file, but for the versions of who generated it"""
    with open(path) as lines:
        text = lines.read()
    start = text.index('DESCRIPTOR =')
    return text[start:text.index('\n', start)], text[text.index('_globals'):]


class TestIndexProto(unittest.TestCase):

    def test_generating_it_again_gives_the_same(self):
        try:
            import grpc_tools  # noqa: F401
        except ImportError:
            self.skipTest('grpcio-tools is not installed')
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run(
                [sys.executable, '-m', 'grpc_tools.protoc', '-I', PACKAGE,
                 '--python_out', directory, 'index.proto'], check=True)
            self.assertEqual(
                code_of(os.path.join(directory, 'index_pb2.py')),
                code_of(os.path.join(PACKAGE, 'index_pb2.py')))

    def test_every_call_is_served(self):
        calls = index_pb2.DESCRIPTOR.services_by_name['Index'].methods
        handler = IndexService(None).handler()
        for call in calls:
            self.assertIsNotNone(handler.service(_Details(
                '/losf.Index/%s' % call.name)))
        self.assertEqual(13, len(calls))


class _Details:
    def __init__(self, method):
        self.method = method
