# SPDX-License-Identifier: Apache-2.0
"""Which class swift-object-replicator runs, for the arguments given."""

import json

import swift
from swift.obj import replicator


def report(klass, conf_file, section_name='', once=False, **options):
    """Stands for run_daemon()."""
    print(json.dumps({
        'swift': swift.__file__,
        'class': '%s:%s' % (klass.__module__, klass.__name__),
        'conf_file': conf_file, 'section_name': section_name, 'once': once,
        'devices': options['devices']}))


replicator.run_daemon = report
replicator.main()
