# SPDX-License-Identifier: Apache-2.0
"""``python -m tools.benchmarks.cosbench``: options, order, table."""

from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context

from tools.benchmarks.cosbench import contestants, server
from tools.benchmarks.errors import BenchError, names, require
from tools.benchmarks.invocation import Invocation, check_json
from tools.benchmarks.report import cell, lines, write_json
from tools.benchmarks.spread import Spread, ratios

HELP = 'requests per CPU second of the HTTP client of COSBench\'s drivers'
REFERENCE = 'aiohttp'
_SPAWN = get_context('spawn')
#: Seconds that a process may take to begin and to end.
PATIENCE = 30


@dataclass(frozen=True)
class Scenario:

    method: str
    #: Bytes of an object.
    size: int


SCENARIOS = {'get-1k': Scenario('GET', 1024),
             'get-64k': Scenario('GET', 65536),
             'put-1k': Scenario('PUT', 1024),
             'put-64k': Scenario('PUT', 65536)}


@dataclass(frozen=True)
class Record:
    """One run of one contestant; CPU is of the client's process only."""

    contestant: str
    scenario: str
    run: int
    workers: int
    operations: int
    failures: int
    cpu_seconds: float
    seconds: float
    operations_per_cpu_second: float
    operations_per_second: float


@dataclass(frozen=True)
class Settings:

    contestants: tuple
    scenarios: tuple
    runs: int
    workers: int
    seconds: float


def add_arguments(parser):
    """:param parser: an argparse parser"""
    add = parser.add_argument
    add('--contestants', default=','.join(contestants.CONTESTANTS),
        metavar='NAME,…', help='what is compared')
    add('--scenarios', default='get-1k,put-64k', metavar='NAME,…',
        help='of ' + ', '.join(SCENARIOS))
    add('--runs', type=int, default=3, help='of each measurement')
    add('--workers', type=int, default=32,
        help='requests at the same time')
    add('--seconds', type=float, default=4, help='of each measurement')
    add('--json', metavar='FILE', help='write all records there')


def run(args):
    """
    :param args: what argparse made of the command line
    :returns: the exit status
    """
    settings = _settings(args)
    check_json(args.json)
    bench = Bench(settings, None)
    try:
        bench.run()
    finally:
        # Also when it is interrupted: what was measured is measured.
        if bench.records:
            print(table(bench.records), flush=True)
        if args.json:
            write_json(args.json, bench.records)
    return bench.status('failed')


def _settings(args):
    for name, least, most in (('runs', 1, 1000), ('workers', 1, 1000),
                              ('seconds', 0.1, 3600)):
        require('--' + name, getattr(args, name), '%g to %g' % (least, most),
                least <= getattr(args, name) <= most)
    return Settings(
        names('--contestants', args.contestants, contestants.CONTESTANTS),
        names('--scenarios', args.scenarios, SCENARIOS),
        args.runs, args.workers, args.seconds)


@contextmanager
def _process(target, *arguments):
    """:returns: a context with the pipe that a new process answers on"""
    mine, its = _SPAWN.Pipe()
    process = _SPAWN.Process(target=target, args=(its, *arguments),
                             daemon=True)
    process.start()
    its.close()
    try:
        yield mine
    finally:
        process.terminate()
        process.join(PATIENCE)
        mine.close()


def _answer(pipe, what, patience):
    try:
        if pipe.poll(patience):
            return pipe.recv()
    except EOFError:
        raise BenchError('%s ended without an answer' % what) from None
    raise BenchError('%s gave no answer in %g s' % (what, patience))


class Bench(Invocation):
    """All measurements of one invocation; ``records`` are the results."""

    def __init__(self, settings, root):
        super().__init__(settings, root)
        self.records = []

    def run(self):
        settings = self.settings
        with _process(server.main) as pipe:
            port = _answer(pipe, 'the server', PATIENCE)
            for number in range(1, settings.runs + 1):
                for scenario in settings.scenarios:
                    # Neither side is always the one to go first.
                    for name in settings.contestants[
                            ::1 if number % 2 else -1]:
                        self._measure(name, scenario, number, port)

    def _measure(self, name, scenario, number, port):
        settings = self.settings
        what = '%s, %s, run %d' % (name, scenario, number)
        try:
            with _process(contestants.run, name, port, SCENARIOS[scenario],
                          settings.workers, settings.seconds) as pipe:
                done, failed, cpu, seconds = _answer(
                    pipe, what, settings.seconds + PATIENCE)
        except BenchError as err:
            self.failures.append(str(err))
            self.say(self.failures[-1])
            return
        if failed:
            self.failures.append('%s: %d of %d requests failed'
                                 % (what, failed, failed + done))
        record = Record(name, scenario, number, settings.workers, done,
                        failed, cpu, seconds, done / cpu, done / seconds)
        self.records.append(record)
        self.say('%s: %.0f requests per CPU second, %.0f per second' % (
            what, record.operations_per_cpu_second,
            record.operations_per_second))


def table(records):
    """
    :param records: of any contestants and scenarios
    :returns: a text: medians of the runs with least and greatest, and the
        ratios, run by run, to ``REFERENCE``
    """
    rows = [('scenario', 'contestant', 'requests/CPU s', 'requests/s',
             '/' + REFERENCE)]
    for scenario, name in dict.fromkeys(
            (each.scenario, each.contestant) for each in records):
        mine = _runs(records, scenario, name)
        its = _runs(records, scenario, REFERENCE)
        speeds = _runs(records, scenario, name, 'operations_per_second')
        rows.append((scenario, name,
                     cell(Spread.of(mine.values()), 0),
                     cell(Spread.of(speeds.values()), 0),
                     cell(ratios(mine, its), 2)))
    return lines(rows)


def _runs(records, scenario, name, field='operations_per_cpu_second'):
    return {each.run: getattr(each, field) for each in records
            if (each.scenario, each.contestant) == (scenario, name)}
