# SPDX-License-Identifier: Apache-2.0
"""The workloads, configs and selectors of COSBench, and how they are read."""

import random
from itertools import count, islice

from cosbench.document import reader, validate
from cosbench.engine.core.choices import walk
from cosbench.errors import ConfigError, WorkloadError
from cosbench.workload import headers, names, pacing, selector_text
from cosbench.workload.config import Config
from cosbench.workload.division import Share
from cosbench.workload.elements import KNOWN
from cosbench.workload.model import Content
from tools.fuzzing.mutate import edit_part, edit_text
from tools.fuzzing.target import Target, as_text

LONGEST = 1 << 14
VALUES = ('', '0', '1', '100', '101', '-1', '2147483647', '2147483648',
          '9' * 30, 'true', 'nan', '\u0661', 'x', 'none', 'mock', 'delay',
          'cleanup', 'write', 'object', 'u(1,9)', 'h(1|2|3,4||0)', '1-3')
SELECTORS = ('c(1)', 'u(1,9)KB', 'r(2,2)', 's(1,9999999) MiB', 'u(5)B',
             '1-3', 'h(1|2|3,4||98)', 'h(5|5|1)KB', 'zipf(1,9,0.9)',
             'hot(1,99,20,80)KB')
CONFIGS = (
    'containers=c(1);objects=u(1,9);cprefix=mine;osuffix=.x;chunked=on;'
    'sizes=h(1|2|3)KB;content=zero;hashCheck=true;createContainer=yes',
    'containers=r(1,9);objects=s(1,9);files=./data;fileselection=u;'
    'rate=99.5;arrival=poisson;cheader.X-A=b;delay=3;errors=0.5;name=n')
_CONFIG = 'config="containers=r(1,9);objects=r(1,9);sizes=c(9)KB'
_SPECIAL = ''.join('<work type="%s" workers="2" %s"/>' % (kind, _CONFIG)
                   for kind in ('init', 'prepare', 'cleanup', 'dispose'))
_NORMAL = ''.join(
    '<work name="w" workers="8" %s="9" division="%s">\n%s</work>' % (
        limit, division, '\n'.join(
            '<operation type="%s" ratio="%d" %s;files=./d;fileselection=r"/>'
            % (kind, ratio, _CONFIG) for kind, ratio in operations))
    for limit, division, operations in (
        ('runtime', 'none', (('read', 80), ('write', 20))),
        ('totalOps', 'object', (('filewrite', 100),)),
        ('runtime', 'container', (('delete', 50), ('read', 0), ('list', 50)))))
WORKLOADS = [
    '%s<workload name="n" description="a <b> c">\n'
    '<auth type="none" config="a=<b>"/><storage type="mock"/>\n<workflow>'
    '<workstage name="s0" closuredelay="1">%s</workstage></workflow>'
    '</workload>' % each for each in (
        ('', _SPECIAL), ('<?xml version="1.0" encoding="UTF-8" ?>\n', _NORMAL),
        ('<!-- > " -->', _SPECIAL + '</workstage><workstage name="s1">'
         + _NORMAL))]


def decode_selector(data):
    """Read it, as a size or not, and draw what it gives."""
    text = data.decode('utf8', 'surrogateescape')
    try:
        found = selector_text.parse_sizes('sizes', text).selector
    except ConfigError:
        found = selector_text.parse('objects', text)
    spans = found.spans()
    assert found.least <= found.most and all(spans), 'is %r' % (found,)
    for share in (None, Share(0, 1), Share(2, 3), Share(9, 10 ** 6)):
        draw = found.picker(random.Random(1), count(), share)
        for number in islice(iter(draw, None), 3):
            assert any(number in span for span in spans), \
                '%r gives %r' % (share, number)
    walked = [span for worker in (0, 1)
              for span in walk(found, Share(worker, 2))]
    assert sum(map(len, walked)) <= sum(map(len, spans)), \
        'two workers have more than there is'
    return found


def decode_config(data):
    """Read it, see that it can be written, and what each kind finds."""
    found = Config.parse(data.decode('utf8', 'surrogateescape'))
    assert dict(Config.parse(str(found))) == dict(found), \
        'is not read as it was written'
    for parse_it in (
            names.containers, names.objects, pacing.pace,
            lambda config: headers.headers(config, headers.CONTAINER),
            lambda config: config.integer('delay', 0, most=9),
            lambda config: config.fraction('errors', 0),
            lambda config: config.flag('chunked', False),
            lambda config: config.choice('content', Content, None),
            lambda config: config.parsed(
                'sizes', selector_text.parse_sizes, None),
            lambda config: config.parsed('trigger', names.trigger, None)):
        parse_it(found)
    return found


def _filled(head, each, tail):
    """Return as many of an element as a document can have."""
    number = (reader.MAX_BYTES - len(head) - len(tail)) // len(each)
    return (head + each * number + tail).encode()


def largest_workloads():
    """Yield much in few bytes, of what each element inherits and repeats."""
    above = '<workload name="n" config="%s"><workflow><workstage name="s">' \
        '<work name="w" workers="1" runtime="1">'
    below = '</work></workstage></workflow></workload>'
    keys = ';'.join('%x=' % number for number in range(80000))
    buckets = 'objects=h(%s1|1|1)' % ('1|1|1,' * 80000)
    read_it = '<operation type="read" ratio="1" config="containers=c(1)"/>'
    for inherited in ('', keys, buckets):
        yield _filled(above % inherited, read_it, below)
    for parts in (
            ('<workload name="n"><workflow>', '<workstage/>',
             '</workflow></workload>'), ('<workload config="', 'a;', '"/>'),
            ('<workload ', "é='<' ", '/>'), ('<workload a="', '<', '"/>'),
            ('<?xml', ' encoding="', ''), ('', '<a>', ''),
            ('<a b="', '&lt;', '"/>')):
        yield _filled(*parts)
    yield (b'<!DOCTYPE a [<!ENTITY b "%s">]><a>&b;</a>' % (b'x' * 900000))


edit_attribute = edit_part('"', 1, 2, VALUES)


def edit_names(rng, data):
    """Replace a name of an element or an attribute by another one."""
    found = [name for tag, (attributes, children) in KNOWN.items()
             for name in (tag, *attributes.split(), *children.split())]
    return data.replace(rng.choice(found).encode(),
                        rng.choice(found).encode(), rng.randrange(1, 3))


def decode_workload(data):
    """Read it, and see that it can be written as a document again."""
    document = reader.read(data)
    for text in (reader.portable(data), reader.text(reader.parse(data))):
        assert reader.read(text.encode('utf8')).workload == \
            document.workload, 'is not read as it was written'
    validate.summary(document.workload)
    for work in document.workload.works:
        assert sum(each.ratio for each in work.operations) == 100, \
            'ratios of %r' % work.name
        work.quota(work.workers - 1)
    return document


TARGETS = (
    Target('selector', as_text(*SELECTORS), decode_selector, (ConfigError,),
           LONGEST, 200, mutations=(edit_text,)),
    Target('config', as_text(*CONFIGS), decode_config, (ConfigError,),
           LONGEST, mutations=(edit_text,)),
    # What a document is warned of, or refused for, is a line for each
    # entry of two bytes.
    Target('workload', [each.encode(code) for each in WORKLOADS
                        for code in ('utf8', 'utf-16', 'utf-8-sig')],
           decode_workload, (WorkloadError,), reader.MAX_BYTES, 300,
           mutations=(edit_attribute, edit_attribute, edit_names, edit_text),
           large=largest_workloads),
)
