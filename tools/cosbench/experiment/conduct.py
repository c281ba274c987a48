# SPDX-License-Identifier: Apache-2.0
"""Runs an experiment: round after round, until enough is known.

What drifts (a disk that fills, a cache that warms, another user) meets all
configurations of a round alike. Order and seeds follow from the experiment's
seed alone: one that was interrupted goes on as it would have.
"""

import hashlib
from collections.abc import Callable, Sequence
from typing import Any

from cosbench.controller.run_store import Archive
from cosbench.errors import ConfigError
from cosbench.experiment.book import Book
from cosbench.experiment.core.figures import common_operations
from cosbench.experiment.core.judgement import check
from cosbench.experiment.findings import Aims, Findings
from cosbench.experiment.views import as_json, as_page
from cosbench.measure.result import Result

#: (document's bytes, seed, what is told the id of the run before it begins)
#: -> its ``Result``.
RunOne = Callable[[bytes, int, Callable[[str], object]], Result]


class RunFailed(Exception):
    """Why the experiment cannot go on; it may be taken up again."""


def conduct(book: Book, aims: Aims, run: RunOne, say: Callable[[str], object]
           ) -> Findings:
    """Run what is missing of an experiment.

    :param say: gets lines for people
    :raises RunFailed: if a run did not finish
    :raises ConfigError: if the runs cannot answer a condition
    """
    plan, number = book.plan, 0
    documents = {each.name: each.xml.encode('utf8')
                 for each in plan.configurations}
    if book.rounds()[plan.names[0]]:
        # Conditions may be others than when it was stopped.
        _check(book, aims, plan.warm_up)
    found = remember(book, aims)
    while not found.is_enough:
        places = order(plan.seed, number, plan.names)
        is_new = False
        for name in places:
            if book.run(number, name) is None:
                is_new = True
                say('round %d%s: %s' % (
                    number + 1, ', which does not count'
                    if number < plan.warm_up else '', name))
                _one(book, number, name, documents[name], run)
        if is_new:
            _check(book, aims, number)
        number += 1
        if number > plan.warm_up + found.rounds:
            found = remember(book, aims)
            say(_progress(found))
    return found


def remember(book: Book, aims: Aims) -> Findings:
    """Write what is known by now, and return it: with these it goes on."""
    found = Findings(book.plan, aims, book.rounds())
    book.put(as_json(found), as_page(found))
    return found


def elsewhere(path: str, fetch: Callable[[bytes, int], dict[str, Any]]
             ) -> RunOne:
    """Return a function for ``conduct`` that has a controller do the runs.

    :param path: of the experiment's archive, which gets them
    :param fetch: a function of (document's bytes, seed) that returns the
        result document, whose id is the controller's
    """
    def run(data: bytes, seed: int,
            begun: Callable[[str], object]) -> Result:
        archive = Archive(path)
        try:
            run_id = archive.new('remote')
            begun(run_id)
            archive.finish({**fetch(data, seed), 'id': run_id})
            return Result.from_json(archive.load(run_id), 'result')
        finally:
            archive.close()
    return run


def _one(book: Book, number: int, name: str, data: bytes, run: RunOne) -> None:
    result = run(data, run_seed(book.plan.seed, number),
                 lambda run_id: book.begin(number, name, run_id))
    book.end(number, name, result)
    if book.run(number, name) is None:
        reasons = [stage.reason for stage in result.stages if stage.reason]
        raise RunFailed('run %s of %s is %s%s: the experiment stops; the '
                        'same command goes on with it' % (
                            result.id, name, result.state, ''.join(
                                ': ' + each for each in reasons[:1])))


def _check(book: Book, aims: Aims, number: int) -> None:
    """Refuse conditions as early as their operations are known."""
    found = {name: book.run(number, name) for name in book.plan.names}
    runs = {name: [run] for name, run in found.items() if run}
    operations = common_operations(runs)
    if not operations:
        raise ConfigError('the configurations have no operation in common: '
                          'nothing can be compared')
    check(aims.conditions, operations, len(runs) > 1)


def _progress(found: Findings) -> str:
    if found.widest is None:
        return '%d rounds' % found.rounds
    return '%d rounds: the least sure figure is known to ±%.1f%%' % (
        found.rounds, 100 * found.widest[3])


#: Bits of a digest that are too many for the seed of a run, which has 53.
_SPARE = 256 - 53


def order(seed: int, round_: int, configurations: Sequence[str]
          ) -> list[str]:
    """Return the order of a round.

    :param round_: which, from 0
    """
    return sorted(configurations,
                  key=lambda name: _digest(seed, round_, 'order', name))


def run_seed(seed: int, round_: int) -> int:
    """Return the seed of the runs of a round.

    All configurations of a round draw the same objects and sizes, and each
    round others.

    :param round_: which, from 0
    """
    return int.from_bytes(_digest(seed, round_, 'seed'), 'big') >> _SPARE


def _digest(*parts: object) -> bytes:
    return hashlib.sha256('\0'.join(map(str, parts)).encode()).digest()
