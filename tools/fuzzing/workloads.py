# SPDX-License-Identifier: Apache-2.0
"""
COSBench's workloads: valid documents, configs and selectors, and how they
are read.
"""

import random
from itertools import count, islice

from cosbench.document import writer
from cosbench.document.reader import MAX_BYTES, parse, portable, read
from cosbench.document.validate import summary
from cosbench.errors import ConfigError, WorkloadError
from cosbench.workload import headers
from cosbench.workload.config import Config
from cosbench.workload.division import Share
from cosbench.workload.elements import KNOWN
from cosbench.workload.model import Content
from cosbench.workload.names import containers, objects, trigger
from cosbench.workload.pacing import pace
from cosbench.workload.selectors import parse as parse_selector
from cosbench.workload.selectors import parse_sizes
from cosbench.workload.walking import walk
from tools.fuzzing.mutate import edit, edit_text
from tools.fuzzing.target import Target

LONGEST = 1 << 14
VALUES = ('', '0', '1', '100', '101', '-1', '2147483647', '2147483648',
          '9' * 30, 'true', 'nan', '\u0661', 'x', 'none', 'mock', 'delay',
          'cleanup', 'write', 'object', 'u(1,9)', 'h(1|2|3,4||0)', '1-3')


def make_selector_text(rng):
    low = rng.choice((1, 2, rng.randrange(1, 999)))
    high = low + rng.choice((0, 1, rng.randrange(10 ** rng.randrange(14))))
    return rng.choice((
        'c(%d)' % low, 'u(%d)' % low, '%d-%d' % (low, high),
        *('%s(%d,%d)' % (kind, low, high) for kind in 'urs'),
        'h(%s)' % ','.join('%d|%s|%d' % (
            low, rng.choice(('', high)), rng.randrange(1, 99))
            for _ in range(rng.choice((1, 2, 9))))))


def make_selector(rng):
    unit = rng.choice(('', '', 'B', 'KB', ' MiB'))
    return (make_selector_text(rng) + unit).encode()


def decode_selector(data):
    """Read it, as a size or not, and draw what it gives."""
    text = data.decode('utf8', 'surrogateescape')
    try:
        found = parse_sizes('sizes', text).selector
    except ConfigError:
        found = parse_selector('objects', text)
    spans = found.spans()
    if not found.least <= found.most or not all(spans):
        raise AssertionError('is %r' % (found,))
    for share in (None, Share(0, 1), Share(2, 3), Share(9, 10 ** 6)):
        draw = found.picker(random.Random(1), count(), share)
        for number in islice(iter(draw, None), 3):
            if not any(number in span for span in spans):
                raise AssertionError('%r gives %r' % (share, number))
    if sum(map(len, walk(found, Share(0, 2)) + walk(found, Share(1, 2)))) > \
            sum(map(len, spans)):
        raise AssertionError('two workers have more than there is')
    return found


def make_config_text(rng):
    config = {
        'containers': make_selector_text(rng), 'cprefix': 'mine',
        'objects': make_selector_text(rng), 'osuffix': '.x',
        'sizes': make_selector_text(rng) + 'KB', 'content': 'zero',
        'hashCheck': rng.choice(('true', 'no')), 'chunked': 'on',
        'createContainer': 'yes', 'files': './data', 'fileselection': 'u',
        'rate': '%g' % rng.uniform(0.1, 999), 'arrival': 'poisson',
        'cheader.X-A': 'b', 'delay': '3', 'errors': '0.5', 'name': 'n'}
    for key in rng.sample(sorted({*config} - {
            'containers', 'objects', 'rate'}), rng.randrange(6)):
        del config[key]
    return ';'.join('%s=%s' % pair for pair in config.items())


def make_config(rng):
    return make_config_text(rng).encode()


def decode_config(data):
    """Read it, see that it can be written, and what each kind finds."""
    found = Config.parse(data.decode('utf8', 'surrogateescape'))
    if dict(Config.parse(str(found))) != dict(found):
        raise AssertionError('is not read as it was written')
    for parse_it in (
            containers, objects, pace, headers.of_containers,
            lambda config: config.integer('delay', 0, most=9),
            lambda config: config.fraction('errors', 0),
            lambda config: config.flag('chunked', False),
            lambda config: config.choice('content', Content, None),
            lambda config: config.parsed('sizes', parse_sizes, None),
            lambda config: config.parsed('trigger', trigger, None)):
        parse_it(found)
    return found


_OPERATIONS = ('read', 'write', 'filewrite', 'delete', 'list')
_SPECIAL = ('init', 'prepare', 'cleanup', 'dispose')
_RANGES = 'containers=r(1,9);objects=r(1,9);sizes=c(9)KB'


def _work(rng):
    if rng.random() < 0.3:
        return '<work type="%s" workers="%d" config="%s"/>' % (
            rng.choice(_SPECIAL), rng.randrange(1, 9), _RANGES)
    ratios = rng.choice(((100,), (80, 20), (50, 0, 50)))
    return '<work name="w" workers="%d" %s="9" division="%s">\n%s</work>' % (
        rng.randrange(1, 9), rng.choice(('runtime', 'totalOps')),
        rng.choice(('none', 'object', 'container')), '\n'.join(
            '<operation type="%s" ratio="%d" config="%s;%s"/>' % (
                rng.choice(_OPERATIONS), ratio, _RANGES,
                'files=./d;fileselection=r') for ratio in ratios))


def make_workload_text(rng):
    return ('%s<workload name="n" description="a <b> c">\n'
            '<auth type="none" config="a=<b>"/><storage type="mock"/>\n'
            '<workflow>%s</workflow></workload>' % (
                rng.choice(('', '<?xml version="1.0" encoding="UTF-8" ?>\n',
                            '<!-- > " -->')),
                ''.join('<workstage name="s%d" closuredelay="%d">%s'
                        '</workstage>' % (each, rng.randrange(2), _work(rng))
                        for each in range(rng.choice((1, 1, 3))))))


def make_workload(rng):
    return make_workload_text(rng).encode(rng.choice((
        'utf8', 'utf8', 'utf-16', 'utf-8-sig')))


def _filled(head, each, tail):
    """As many of an element as a document can have."""
    number = (MAX_BYTES - len(head) - len(tail)) // len(each)
    return (head + each * number + tail).encode()


def make_largest_workload(rng):
    """Much in few bytes, of what each element inherits and repeats."""
    above = '<workload name="n" config="%s"><workflow><workstage name="s">' \
        '<work name="w" workers="1" runtime="1">'
    below = '</work></workstage></workflow></workload>'
    keys = ';'.join('%x=' % number for number in range(80000))
    buckets = 'objects=h(%s1|1|1)' % ('1|1|1,' * 80000)
    read_it = '<operation type="read" ratio="1" config="containers=c(1)"/>'
    return rng.choice((
        _filled(above % '', read_it, below),
        _filled(above % keys, read_it, below),
        _filled(above % buckets, read_it, below),
        _filled('<workload name="n"><workflow>', '<workstage/>',
                '</workflow></workload>'),
        _filled('<workload config="', 'a;', '"/>'),
        _filled('<workload ', "é='<' ", '/>'),
        _filled('<workload a="', '<', '"/>'),
        _filled('<?xml', ' encoding="', ''),
        _filled('', '<a>', ''), _filled('<a b="', '&lt;', '"/>'),
        b'<!DOCTYPE a [<!ENTITY b "%s">]><a>&b;</a>' % (b'x' * 900000)))


def edit_attribute(rng, data):
    """The value of an attribute is edited, or is another one."""
    parts = data.decode('utf8', 'replace').split('"')
    if len(parts) < 3:
        return data
    at = rng.randrange(1, len(parts), 2)
    parts[at] = edit(rng, parts[at]) if rng.random() < 0.7 else \
        rng.choice(VALUES)
    return '"'.join(parts).encode('utf8', 'surrogatepass')


def edit_names(rng, data):
    """A name of an element or an attribute becomes another one."""
    found = [name for tag, (attributes, children) in KNOWN.items()
             for name in (tag, *attributes.split(), *children.split())]
    return data.replace(rng.choice(found).encode(),
                        rng.choice(found).encode(), rng.randrange(1, 3))


def decode_workload(data):
    """Read it, and see that it can be written as a document again."""
    document = read(data)
    for text in (portable(data), writer.text(parse(data))):
        if read(text.encode('utf8')).workload != document.workload:
            raise AssertionError('is not read as it was written')
    summary(document.workload)
    for work in document.workload.works:
        if sum(each.ratio for each in work.operations) != 100:
            raise AssertionError('ratios of %r' % work.name)
        work.quota(work.workers - 1)
    return document


TARGETS = (
    Target('selector', make_selector, decode_selector, (ConfigError,),
           LONGEST, 200, mutations=(edit_text,)),
    Target('config', make_config, decode_config, (ConfigError,), LONGEST,
           64, mutations=(edit_text,)),
    # What a document is warned of, or refused for, is a line for each
    # entry of two bytes.
    Target('workload', make_workload, decode_workload, (WorkloadError,),
           MAX_BYTES, 300, mutations=(edit_attribute, edit_attribute,
                                      edit_names, edit_text),
           make_large=make_largest_workload),
)
