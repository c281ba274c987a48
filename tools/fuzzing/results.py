# SPDX-License-Identifier: Apache-2.0
"""The documents of COSBench's results, and how they are read.

Each is read as from a file, and goes through what reports do with it first.
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
from tools.fuzzing.mutate import JSON, garble
from tools.fuzzing.target import Target, as_json

LONGEST = 1 << 20
#: Points of each operation that a report shows.
POINTS = 300

#: Samples of operations that begin together, by what the last one takes.
SAMPLES = [[Sample('op%d' % (1 + number % 2), start, start, start + took / 2,
                   start + took, 9998, error)
            for number, (start, took, error) in enumerate((
                (0.5, 0, None), (3, 0.009, 'http 503'),
                (8.5, 0.001, 'timeout'), (9, longest, None)))]
           for longest in (0, 3999.5)]


def _added(found, samples):
    for sample in samples:
        found.add(sample)
    return found


TALLIES = [Tally(), *(_added(Tally(), samples) for samples in SAMPLES)]
TIMELINES = [Timeline(1), *(_added(Timeline(length), samples)
                            for length in (1, 5, 0.5) for samples in SAMPLES)]
WORKS = [{
    'id': 'w1', 'name': 'main', 'type': 'normal', 'workers': 2,
    'runtime': 10, 'rampup': 1, 'rampdown': 0, 'counted': 7.5,
    'state': 'completed', 'rate': 9.5, 'histogram': True, 'reason': None,
    'drivers': [{'cpu_percent_p95': 12.5}], 'operations': [{
        'id': 'op%d' % number, 'name': 'read', 'type': 'read', 'ratio': 50,
        'config': 'a=b', 'tally': tally.to_json()}
        for number, tally in enumerate(TALLIES)],
    'timeline': TIMELINES[1].to_json(), **changed}
    for changed in ({}, {'runtime': 0, 'counted': None, 'rate': None,
                         'timeline': None, 'operations': []})]
RESULTS = [{
    'version': 1, 'id': 'w12', 'name': 'small', 'description': '',
    'state': 'finished', 'submitted': 1e9, 'started': 1e9 + 1,
    'stopped': None, 'xml': '<workload/>', 'seed': 7,
    'warnings': ['line 1'], 'history': [['finished', 1e9]],
    'drivers': [{'name': 'd1', 'state': 'ok', 'reason': None,
                 'clock_offset_s': 0.1}],
    'stages': [{'id': 's1', 'name': 'main', 'state': 'completed',
                'reason': 'x', 'started': 1e9, 'stopped': 1e9 + 9,
                'works': works}]}
    for works in ([], WORKS[:1], WORKS[1:], WORKS[:1] * 2)]


def load(data):
    """Parse JSON, or raise what ``read_result`` raises."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as err:
        raise RecordError('must be JSON: %s' % err) from None


def _twice(found):
    """Write it, read that and merge both: return what has all twice."""
    again = type(found).from_json(found.to_json())
    assert again.to_json() == found.to_json(), 'is not read as it was written'
    if isinstance(found, Histogram):
        assert again.buckets() == found.buckets(), 'has other buckets'
    again.merge(found)
    return again


def decode_histogram(data):
    found = Histogram.from_json(load(data))
    values = found.percentiles((0.001, 50, 99.9, 100))
    assert not found.count or values[-1] == found.most, \
        '100 %% are %r' % values[-1]
    assert _twice(found).count == 2 * found.count, 'has not all twice'
    return found


def alter_histogram(rng, data):
    """Change what is compressed in a histogram."""
    try:
        document = load(data)
        inner = garble(rng, zlib.decompress(
            base64.b64decode(document['hdr'])[8:]))
        if rng.random() < 0.5 and len(inner) >= 40:
            # With the length that it has now.
            inner = inner[:4] + (len(inner) - 40).to_bytes(4, 'big') \
                + inner[8:]
        packed = zlib.compress(inner)
        document['hdr'] = base64.b64encode(
            b'\x1c\x84\x93\x14' + len(packed).to_bytes(4, 'big')
            + packed).decode()
        if rng.random() < 0.3:
            document['count'] += rng.choice((-1, 1, 2 ** 40))
        return json.dumps(document).encode()
    except (ValueError, KeyError, TypeError, zlib.error):
        return data


def decode_tally(data):
    found = Tally.from_json(load(data))
    metrics = Metrics.of(found, 1)
    assert metrics.seconds >= 0 and metrics.failures == found.failed, \
        'is %r' % (metrics,)
    _twice(found)
    return found


def largest_timelines():
    last = [MAX_INTERVAL, 0, 0, 1, 0, 0, []]
    return as_json(*({'interval': interval, 'operations': {
        'op%d' % number: [[0] + last[1:], last]
        for number in range(MAX_OPERATIONS)}} for interval in (
            1, 1e-9, 86400)))


def decode_timeline(data):
    found = Timeline.from_json(load(data))
    show_timeline(found, (0.0, None))
    _twice(found)
    return found


def show_timeline(timeline, window):
    for operation in timeline.operations:
        points = list(timeline.points(operation, POINTS))
        assert len(points) <= POINTS, '%d points' % len(points)
        assert all(each.throughput >= 0 and each.bandwidth >= 0
                   for each in points), 'there was less than nothing'
    for operation in timeline.operations[:1]:
        timeline.intervals(operation, *window)


def decode_result(data):
    found = Result.from_json(load(data), 'a file')
    for stage in found.stages:
        for work in stage.works:
            for operation in work.operations:
                work.metrics(operation)
            if work.timeline is not None:
                show_timeline(work.timeline, work.window)
            assert work.end is None or work.window[0] >= 0, \
                'its window is %r' % (work.window,)
    return found


def _document(name, documents, parse, memory, mutations=JSON, **more):
    return Target(name, as_json(*documents), parse, (RecordError,),
                  LONGEST, memory, mutations=mutations, **more)


TARGETS = (
    # A histogram that is all zeros but for a few is packed well: the
    # library that writes it has an array of all buckets.
    _document('histogram', [each.response.to_json() for each in TALLIES],
              decode_histogram, 512, JSON + 9 * (alter_histogram,),
              buffer=1 << 21),
    _document('tally', [each.to_json() for each in TALLIES], decode_tally,
              512, buffer=1 << 21),
    _document('timeline', [each.to_json() for each in TIMELINES],
              decode_timeline, 300, large=largest_timelines,
              buffer=8 * MAX_INTERVAL),
    _document('result', RESULTS, decode_result, 300,
              buffer=8 * MAX_INTERVAL),
)
