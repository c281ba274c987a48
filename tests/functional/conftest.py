# SPDX-License-Identifier: Apache-2.0
"""The marks of these tests."""


def pytest_configure(config):
    config.addinivalue_line(
        'markers', 'long: takes a minute or more; tools/test --long runs it')
