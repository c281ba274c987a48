# SPDX-License-Identifier: Apache-2.0
"""
COSBench's results: valid documents, and how they are read.

Each is read as from a file, and does what reports do with it first.
"""

import base64
import json
import zlib

from cosbench.measure.histogram import Histogram
from cosbench.measure.limits import MAX_OPERATIONS
from cosbench.measure.result import Result
from cosbench.measure.sample import Sample
from cosbench.measure.summary import Metrics
from cosbench.measure.tally import Tally
from cosbench.measure.timeline import MAX_INTERVAL, Timeline
from swift_lightsync.common.records import RecordError
from tools.fuzzing.mutate import ANY, JSON
from tools.fuzzing.target import Target

LONGEST = 1 << 20
#: Points of each operation that a report shows.
POINTS = 300
_OUTER = 8


def make_samples(rng):
    samples = []
    for _ in range(rng.choice((0, 1, 2, 30))):
        start = rng.uniform(0, rng.choice((1, 9, 4000)))
        took = rng.choice((0, rng.uniform(0, 0.01), rng.uniform(0, 4000)))
        samples.append(Sample(
            rng.choice(('op1', 'op2')), start, start, start + took / 2,
            start + took, rng.randrange(9999),
            rng.choice((None, None, None, 'http 503', 'timeout'))))
    return samples


def make_tally(rng):
    tally = Tally()
    for sample in make_samples(rng):
        tally.add(sample)
    return tally


def make_timeline(rng, lengths=(1, 5, 0.5)):
    timeline = Timeline(rng.choice(lengths))
    for sample in make_samples(rng):
        timeline.add(sample)
    return timeline


def _bytes(document):
    return json.dumps(document).encode()


def load(data):
    """:raises RecordError: if the bytes are no JSON, as ``read_result``"""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as err:
        raise RecordError('must be JSON: %s' % err) from None


def decode_histogram(data):
    found = Histogram.from_json(load(data))
    again = Histogram.from_json(found.to_json())
    if again.to_json() != found.to_json() or \
            again.buckets() != found.buckets():
        raise AssertionError('is not read as it was written')
    values = found.percentiles((0.001, 50, 99.9, 100))
    if found.count and values[-1] != found.most:
        raise AssertionError('100 %% are %r' % values[-1])
    again.merge(found)
    if again.count != 2 * found.count:
        raise AssertionError('twice has %d' % again.count)
    return found


def alter_counts(rng, data):
    """What is compressed in a histogram becomes something else."""
    document = load(data)
    inner = bytearray(zlib.decompress(
        base64.b64decode(document['hdr'])[_OUTER:]))
    inner = rng.choice(ANY)(rng, bytes(inner))
    if rng.random() < 0.5 and len(inner) >= 40:
        # With the length that it has now.
        inner = inner[:4] + (len(inner) - 40).to_bytes(4, 'big') + inner[8:]
    packed = zlib.compress(inner)
    document['hdr'] = base64.b64encode(
        b'\x1c\x84\x93\x14' + len(packed).to_bytes(4, 'big')
        + packed).decode()
    if rng.random() < 0.3:
        document['count'] += rng.choice((-1, 1, 2 ** 40))
    return _bytes(document)


def alter_histogram(rng, data):
    try:
        return alter_counts(rng, data)
    except (ValueError, KeyError, TypeError, zlib.error):
        return data


def decode_tally(data):
    found = Tally.from_json(load(data))
    again = Tally.from_json(found.to_json())
    if again.to_json() != found.to_json():
        raise AssertionError('is not read as it was written')
    metrics = Metrics.of(found, 1)
    if metrics.seconds < 0 or metrics.failures != found.failed:
        raise AssertionError('is %r' % (metrics,))
    again.merge(found)
    return found


def make_largest_timeline(rng):
    last = [MAX_INTERVAL, 0, 0, 1, 0, 0, []]
    return _bytes({'interval': rng.choice((1, 1e-9, 86400)), 'operations': {
        'op%d' % number: [[0] + last[1:], last]
        for number in range(MAX_OPERATIONS)}})


def decode_timeline(data):
    found = Timeline.from_json(load(data))
    show_timeline(found, (0.0, None))
    again = Timeline.from_json(found.to_json())
    if again.to_json() != found.to_json():
        raise AssertionError('is not read as it was written')
    again.merge(found)
    return found


def show_timeline(timeline, window):
    for operation in timeline.operations:
        points = list(timeline.points(operation, POINTS))
        if len(points) > POINTS:
            raise AssertionError('%d points' % len(points))
        for point in points:
            if point.throughput < 0 or point.bandwidth < 0:
                raise AssertionError('is %r' % (point,))
    for operation in timeline.operations[:1]:
        timeline.intervals(operation, *window)


def make_result_document(rng):
    """:returns: a dict"""
    operations = [{
        'id': 'op%d' % number, 'name': 'read', 'type': 'read', 'ratio': 50,
        'config': 'a=b', 'tally': make_tally(rng).to_json()}
        for number in range(rng.choice((0, 1, 2)))]
    work = {'id': 'w1', 'name': 'main', 'type': 'normal', 'workers': 2,
            'runtime': rng.choice((0, 10)), 'rampup': 1, 'rampdown': 0,
            'counted': rng.choice((None, 7.5)), 'state': 'completed',
            'rate': rng.choice((None, 9.5)), 'histogram': True,
            'reason': None, 'drivers': [{'cpu_percent_p95': 12.5}],
            'operations': operations,
            'timeline': rng.choice((None, make_timeline(rng).to_json()))}
    return {
        'version': 1, 'id': 'w12', 'name': 'small', 'description': '',
        'state': 'finished', 'submitted': 1e9, 'started': 1e9 + 1,
        'stopped': None, 'xml': '<workload/>', 'seed': 7,
        'warnings': ['line 1'], 'history': [['finished', 1e9]],
        'drivers': [{'name': 'd1', 'state': 'ok', 'reason': None,
                     'clock_offset_s': 0.1}],
        'stages': [{'id': 's1', 'name': 'main', 'state': 'completed',
                    'reason': 'x', 'started': 1e9, 'stopped': 1e9 + 9,
                    'works': [work] * rng.choice((0, 1, 1, 2))}]}


def decode_result(data):
    found = Result.from_json(load(data), 'a file')
    for stage in found.stages:
        for work in stage.works:
            for operation in work.operations:
                work.metrics(operation)
            if work.timeline is not None:
                show_timeline(work.timeline, work.window)
            if work.end is not None and work.window[0] < 0:
                raise AssertionError('its window is %r' % (work.window,))
    return found


def _document(name, make, parse, memory=64, mutations=JSON, **more):
    return Target(name, lambda rng: _bytes(make(rng)), parse, (RecordError,),
                  LONGEST, memory, mutations=mutations, **more)


TARGETS = (
    # A histogram that is all zeros but for a few is packed well: the
    # library that writes it has an array of all buckets.
    _document('histogram', lambda rng: make_tally(rng).response.to_json(),
              decode_histogram, 512, JSON + 9 * (alter_histogram,),
              buffer=1 << 21),
    _document('tally', lambda rng: make_tally(rng).to_json(), decode_tally,
              512, buffer=1 << 21),
    _document('timeline', lambda rng: make_timeline(rng).to_json(),
              decode_timeline, 300, make_large=make_largest_timeline,
              buffer=8 * MAX_INTERVAL),
    _document('result', make_result_document, decode_result, 300,
              buffer=8 * MAX_INTERVAL),
)
