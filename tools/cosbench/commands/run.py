# SPDX-License-Identifier: Apache-2.0
"""``cosbench run``: one workload, from here, with drivers of this host."""

import asyncio
import json
import os
import signal
import sys
from contextlib import closing

from cosbench.commands import common_arguments
from cosbench.commands.progress import Progress
from cosbench.controller import local
from cosbench.controller.core.workload_states import (
    OnLoss,
    Policy,
    WorkloadState,
)
from cosbench.controller.run_store import Archive
from cosbench.controller.workload_queue import Controller
from cosbench.document.reader import file_bytes
from cosbench.document.validate import refuse_unknown_keys
from cosbench.driver.process import run as run_loop
from cosbench.errors import ConfigError
from cosbench.experiment.core.steady import Steady
from cosbench.tasks import beside
from swift_lightsync.common.files import replace_file


def add(name, command):
    """Add the arguments of the command to its parser."""
    command.description = 'Run a workload with drivers of this host, and ' \
        'write its reports. Exit status 0: finished, 1: a stage failed, it ' \
        'was cancelled, or its reports could not be written, 2: it was ' \
        'refused.'
    command.add_argument('file', metavar='WORKLOAD')
    common_arguments.local_run(command)
    command.add_argument('--json', metavar='FILE', help='write the result '
                         'document to this file; -: to standard output')
    command.set_defaults(run=main)


def main(args):
    """Run the command, and return its exit status."""
    return run_loop(_run(args))


async def _run(args):
    data = file_bytes(args.file)
    if args.json:
        _check_writable(args.json)
    document, problem = await run_fully(data, args)
    if args.json:
        _write(args.json, json.dumps(document))
    state = WorkloadState(document['state'])
    return 0 if state is WorkloadState.FINISHED and not problem else 1


def _check_writable(path):
    """Refuse before a run, which may be long, what cannot be written then."""
    if _is_stream(path):
        return
    directory = os.path.dirname(path) or '.'
    try:
        os.stat(directory)
    except OSError as err:
        raise ConfigError('--json %s: %s' % (path, err.strerror)) from None
    if os.path.isdir(path) or not os.access(directory, os.W_OK | os.X_OK):
        raise ConfigError('--json %s: must be a file in a directory that '
                          'can be written' % path)


def _is_stream(path):
    """Whether it is written to, and not replaced: a pipe, a terminal."""
    return path == '-' or os.path.exists(path) and not (
        os.path.isfile(path) or os.path.isdir(path))


def _write(path, text):
    if path == '-':
        sys.stdout.write(text)
    elif _is_stream(path):
        with open(path, 'w', encoding='utf8') as stream:
            stream.write(text)
    else:
        # Of a link, what it leads to: the link stays.
        replace_file(os.path.realpath(path), text.encode(), is_durable=True)


async def run_fully(data, args, skip=None, begun=lambda run_id: None):
    """Run a document to its end, and say how it went.

    :param data: its bytes
    :param args: of ``arguments.local_run``
    :param skip: see ``WorkloadRun``
    :param begun: called with the id of the run, before it begins
    :returns: the result document, and why its reports are not all written,
        or None
    :raises WorkloadError: if it is refused
    :raises OSError: if it did not begin
    """
    # Warnings are shown by what shows the progress.
    common_arguments.log_to_stderr('critical')
    if args.strict:
        refuse_unknown_keys(data)
    with closing(Archive(args.archive)) as archive:
        policy = Policy(OnLoss(args.on_driver_loss))
        # Refused before processes are started.
        controller = Controller(archive, [], policy, args.watch)
        entry = controller.begin(data, args.seed)
        run_id = entry.document['id']
        begun(run_id)
        progress = Progress(entry, sys.stderr, args.quiet)
        try:
            async with local.drivers(args.drivers, args.driver_timeout,
                                     args.triggers,
                                     args.request_log) as found:
                controller.drivers += found
                await _watched(controller, progress, skip, args.end_run
                               and Steady(args.end_run))
        except Exception as err:
            await controller.fail(entry, err)
            raise
        return _ended(archive, run_id, progress)


def _ended(archive, run_id, progress):
    """Show how a run ended; return what run_fully does."""
    # Of memory, if it is not on the disk.
    document = archive.load(run_id)
    progress.end(document)
    problem = archive.unwritten(run_id)
    progress.say('%s: reports in %s' % (run_id, archive.path(run_id))
                 if problem is None else 'cosbench: %s: the reports are '
                 'not all written: %s' % (run_id, problem))
    return document, problem


async def _watched(controller, progress, skip, enough):
    """Run it; show how it goes; let signals cancel it."""
    loop = asyncio.get_running_loop()
    entry = progress.entry

    def cancel(number):
        loop.remove_signal_handler(number)
        progress.say('\n%s: it is cancelled; once more to stop at once'
                     % signal.Signals(number).name)
        loop.create_task(controller.cancel(entry.document['id']))
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, cancel, number)
    async with beside(progress.show()):
        await controller.run(entry, skip, enough)
