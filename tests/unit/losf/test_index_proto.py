# SPDX-License-Identifier: Apache-2.0
"""The generated code says what index.proto says, to any protobuf."""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

from google.protobuf import descriptor_pb2

import swift_losf
from swift_losf.index import index_pb2
from swift_losf.index.index_service import IndexService

PACKAGE = os.path.join(os.path.dirname(swift_losf.__file__), 'index')


def compiler():
    """Return the command of an installed protoc, or None."""
    if importlib.util.find_spec('grpc_tools'):
        return [sys.executable, '-m', 'grpc_tools.protoc']
    return ['protoc'] if shutil.which('protoc') else None


def described(file):
    """Return a FileDescriptorProto without names that protoc derives."""
    for message in file.message_type:
        for field in message.field:
            field.ClearField('json_name')
    return file


class TestIndexProto(unittest.TestCase):

    def test_the_descriptor_is_what_protoc_makes_of_the_proto(self):
        command = compiler()
        if not command:
            self.skipTest('neither grpcio-tools nor protoc is installed')
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, 'index.set')
            subprocess.run(
                command + ['-I', PACKAGE, '--descriptor_set_out', path,
                           'index.proto'], check=True)
            with open(path, 'rb') as source:
                files = descriptor_pb2.FileDescriptorSet.FromString(
                    source.read()).file
        self.assertEqual(1, len(files))
        generated = descriptor_pb2.FileDescriptorProto.FromString(
            index_pb2.DESCRIPTOR.serialized_pb)
        self.assertEqual(described(files[0]), described(generated))

    def test_the_messages_are_those_of_the_descriptor(self):
        for name, message in (
                index_pb2.DESCRIPTOR.message_types_by_name.items()):
            self.assertIs(message, getattr(index_pb2, name).DESCRIPTOR)

    def test_the_code_asks_for_no_newer_runtime(self):
        with open(index_pb2.__file__, encoding='utf8') as source:
            self.assertNotIn('runtime_version', source.read())

    def test_every_call_is_served(self):
        calls = index_pb2.DESCRIPTOR.services_by_name['Index'].methods
        self.assertEqual(15, len(calls))
        self.assertEqual({b'/losf.Index/%s' % call.name.encode()
                          for call in calls}, IndexService(None).paths)
