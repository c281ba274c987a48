# SPDX-License-Identifier: Apache-2.0
"""Which class a daemon's command runs: its module, then its arguments."""

import json
import sys
from importlib import import_module

import swift


def report(klass, conf_file, section_name='', once=False, **options):
    """Stands for run_daemon()."""
    print(json.dumps({
        'swift': swift.__file__,
        'class': '%s:%s' % (klass.__module__, klass.__name__),
        'conf_file': conf_file, 'section_name': section_name, 'once': once,
        'devices': options['devices']}))


module = import_module(sys.argv.pop(1))
module.run_daemon = report
module.main()
