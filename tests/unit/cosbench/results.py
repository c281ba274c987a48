# SPDX-License-Identifier: Apache-2.0
"""A small result document, for the tests of what reads them."""

import random

from cosbench.measure.sample import Sample
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import Timeline

#: 2026-03-04 05:06:00 UTC.
BEGIN = 1772600760


def operation(samples, name, kind, id='op1', **more):
    tally = Tally()
    for sample in samples:
        if sample.operation == id:
            tally.add(sample)
    return {'id': id, 'name': name, 'type': kind, 'tally': tally.to_json(),
            **more}


def timeline(samples, seconds=5):
    made = Timeline(seconds)
    for sample in samples:
        made.add(sample)
    return made.to_json()


def work(samples, operations, id='w1', name='main', kind='normal',
         workers=2, runtime=10, **more):
    return {'id': id, 'name': name, 'type': kind, 'workers': workers,
            'runtime': runtime, 'state': 'completed', 'reason': None,
            'operations': operations, 'timeline': timeline(samples), **more}


def stage(works, id, state='completed', **more):
    return {'id': id, 'name': id.split('-', 1)[1], 'state': state,
            'reason': None, 'works': works, 'started': BEGIN,
            'stopped': BEGIN + 10, **more}


def document(stages, **more):
    return {'version': 1, 'id': 'w12', 'name': 'small', 'description': '',
            'state': 'finished', 'submitted': BEGIN - 5, 'started': BEGIN,
            'stopped': BEGIN + 20, 'xml': '', 'seed': 7, 'warnings': [],
            'drivers': [], 'stages': stages, **more}


def tiny():
    """init: one container in 20 ms, 8 of them to the first byte. main: reads
    of 1000 bytes that take 2, 4, 6, 8 ms, half of it to the first byte, and
    end at seconds 1, 2, 6, 7; one write of 500 bytes of 10 ms at second 3, and
    one that fails. A stage that only waits.
    """
    made = [Sample('op1', 0, 0, .008, .02, 0)]
    main = [Sample('op1', end - took, end - took, end - took / 2, end, 1000)
            for end, took in ((1, .002), (2, .004), (6, .006), (7, .008))]
    main += [Sample('op2', 2.99, 2.99, 2.999, 3, 500),
             Sample('op2', 4, 4, 4, 4.5, 0, 'http 503',
                    message='PUT /v1/a: busy')]
    return document([
        stage([work(made, [operation(made, 'init', 'init')], kind='init',
                    name='init', workers=1, runtime=0)], 's1-init'),
        stage([work(main, [
            operation(main, 'read', 'read', ratio=80,
                      config='containers=c(1);objects=u(1,8)'),
            operation(main, 'write', 'write', 'op2', ratio=20)])], 's2-main',
            history=[['waiting', BEGIN], ['running', BEGIN + 1],
                     ['completed', BEGIN + 11]]),
        stage([work([], [operation([], 'delay', 'delay')], kind='delay',
                    name='delay', workers=1, runtime=0)], 's3-delay')])


def generated(seed, mean_ms=5.0, seconds=60, rate=50, workers=8, **more):
    """One work of reads whose times are drawn around a mean."""
    rng, samples = random.Random(seed), []
    when = 0.0
    while True:
        when += rng.expovariate(rate)
        took = mean_ms / 1000 * rng.lognormvariate(-.125, .5)
        if when + took >= seconds:
            break
        samples.append(Sample('op1', when, when, when + took * .6,
                              when + took, 4096))
    return document([stage([{**work(
        samples, [operation(samples, 'read', 'read')], workers=workers,
        runtime=seconds), 'timeline': timeline(samples, 1), **more}],
        's1-main')])
