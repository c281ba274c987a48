# SPDX-License-Identifier: Apache-2.0
"""HEALTH.md, the rules and the dashboard: what they name exists."""

import json
import os
import re
import unittest

import swift_lightsync
from swift_lightsync.common.health import Scope
from swift_lightsync.health.systems import systems

PACKAGE = os.path.dirname(swift_lightsync.__file__)
ETC = os.path.join(os.path.dirname(PACKAGE), 'etc', 'monitoring')
METRIC = r'\bswift_(?:lightsync|losf|proar|versions)_\w+'


def text(*parts):
    with open(os.path.join(*parts), encoding='utf8') as file:
        return file.read()


def metrics():
    """Return the names in the source of each system's judge."""
    sources = [text(PACKAGE, 'software.py'), text(
        PACKAGE, 'health', 'cli.py')]
    for system in systems():
        path = __import__(system.judge.__module__, fromlist=['']).__file__
        sources.append(text(path))
    return {name for source in sources for name in re.findall(
        r"Family\(\s*'(\w+)'", source)}


class TestDocuments(unittest.TestCase):

    def test_the_document_has_each_metric(self):
        self.assertEqual(metrics(), {
            name for line in text(PACKAGE, 'health', 'HEALTH.md').splitlines()
            if line.startswith('| `swift_')
            for name in re.findall(METRIC, line.split('|')[1])})

    def test_the_document_has_each_path(self):
        document = text(PACKAGE, 'health', 'HEALTH.md')
        for system in systems():
            for path in system.routes({}):
                self.assertIn('`%s`' % path, document)

    def test_rules_and_dashboard_use_metrics_that_exist(self):
        rules = set(re.findall(METRIC, ' '.join(re.findall(
            'expr: (.*)', text(ETC, 'alerts.yml')))))
        board = set(re.findall(METRIC, ' '.join(
            target['expr'] for panel in json.loads(text(
                ETC, 'grafana-dashboard.json'))['panels']
            for target in panel['targets'])))
        self.assertLessEqual(rules, metrics())
        self.assertEqual(metrics() - {'swift_losf_files'}, board)


class TestNobodyAnswers(unittest.TestCase):

    def test_a_system_that_nobody_runs_is_not_used(self):
        for system in list(systems())[1:]:
            verdict = system.judge({
                path: [] for path in system.routes({})},
                Scope('/nowhere', 1.0, 600))
            self.assertFalse(verdict.is_used, system.name)
