# SPDX-License-Identifier: Apache-2.0
"""build: what a document means, and what it is refused for."""

import unittest

from cosbench.document.reader import read
from cosbench.workload.inheritance import Adaptors
from cosbench.workload.model import (
    Content,
    Division,
    FileSelection,
    OperationType,
    Quota,
    Trigger,
    WorkType,
)
from cosbench.workload.selectors import Constant, Cyclic, Sequential
from tests.unit.cosbench.documents import (
    NORMAL,
    PUBLISHED,
    READ,
    operation,
    refusals_of,
    warnings_of,
    work,
    works_of,
    wrapped,
)

TARGET = 'containers=r(1,4);objects=r(1,9);'


def one(config, kind='write'):
    return works_of(work(operation(config, kind)))[0].operations[0]


class TestPublishedConstructs(unittest.TestCase):

    def setUp(self):
        self.document = read(PUBLISHED.encode())
        self.works = self.document.workload.works

    def test_all_are_accepted_without_a_warning(self):
        self.assertEqual((), self.document.warnings)
        self.assertEqual(
            ['init', 'prepare', 'delay', 'c1p0', 'c2p0', 'cleanup',
             'dispose'], [each.name for each in self.works])

    def test_placeholders_stay_as_they_are(self):
        config = self.works[1].storage.config
        self.assertEqual('<access key>', config['accesskey'])
        self.assertEqual('</k/>=b', config['secretkey'])

    def test_auth_and_storage_come_whole_from_the_nearest(self):
        self.assertEqual(['swift', 's3', 's3', 'mock', 's3', 's3', 's3'],
                         [each.storage.type for each in self.works])
        self.assertEqual({'swauth'}, {each.auth.type for each in self.works})
        self.assertEqual({'policy': 'gold'},
                         dict(self.works[0].storage.config))

    def test_operations_of_ratio_0_are_dropped(self):
        # The key hashcheck is found in lower case.
        self.assertEqual([('read', 80, True), ('write', 20, False)], [
            (each.type.value, each.ratio, each.hash_check)
            for each in self.works[3].operations])
        # A delay is the time after its stage.
        stage = self.document.workload.stages[2]
        self.assertEqual((60, OperationType.DELAY), (
            stage.closure_delay, stage.works[0].operations[0].type))


class TestSpecialWorks(unittest.TestCase):

    def test_they_are_spelt_out(self):
        works = works_of(*('<work type="%s" workers="3" %s config="%ssizes='
                           'c(9)B"/>' % (kind, more, TARGET)
                           for kind, more in (
                               ('init', ''), ('prepare', 'afr="5"'),
                               ('cleanup', ''), ('dispose', ''),
                               ('delay', ''))))
        for each, division, workers, afr in zip(
                works, 'container object object container none'.split(),
                (3, 3, 3, 3, 1), (0, 5, 0, 0, 0)):
            self.assertEqual(
                (workers, workers, 0, 0, afr),
                (each.workers, each.total_ops, each.total_bytes,
                 each.runtime, each.afr))
            self.assertEqual(each.type.value, each.name)
            only, = each.operations
            self.assertEqual((each.type.value, 100, Division(division)), (
                only.type.value, only.ratio, only.division))
            self.assertEqual(Quota(1, None), each.quota(0))

    def test_containers_come_with_objects_only_when_asked(self):
        for key, kind in (('createContainer', 'prepare'),
                          ('deleteContainer', 'cleanup')):
            for config, expected in (('', False), (key + '=true;', True)):
                found, = works_of(
                    '<work type="%s" workers="1" config="%s%ssizes=c(1)B"/>'
                    % (kind, config, TARGET))
                self.assertIs(expected, found.operations[0].with_containers)


class TestWorks(unittest.TestCase):

    def test_all_that_a_work_may_have_is_read_without_a_warning(self):
        for text in (
                wrapped(NORMAL, NORMAL, above='<storage type="mock"/><auth '
                        'type="none"/>'),
                wrapped(NORMAL.replace('<op', '<auth type="mock" config=""/>'
                                       '<op')),
                wrapped(work(READ, 'workers="1" runtime="1" division="object"'
                             ' afr="1000000" interval="1" rampup="1" '
                             'rampdown="2" totalOps="3" totalBytes="%d" '
                             'driver="d" config="rate=5"' % (2 ** 63 - 1)))):
            self.assertEqual([], warnings_of(text))

    def test_defaults_are_cosbenchs(self):
        found, = works_of(NORMAL)
        self.assertEqual(
            (WorkType.NORMAL, 5, 0, 30, 0, 0, 0, 200000, None),
            (found.type, found.interval, found.rampup, found.runtime,
             found.rampdown, found.total_ops, found.total_bytes, found.afr,
             found.driver))
        self.assertEqual(('none', 'none'),
                         (found.auth.type, found.storage.type))
        only, = found.operations
        self.assertEqual((100, Division.NONE, 'op1', 'read'),
                         (only.ratio, only.division, only.id, only.name))
        self.assertEqual('mycontainers2', only.containers.name(2))
        self.assertEqual('myobjects7', only.objects.name(7))

    def test_configs_are_laid_over_each_other_from_outside_in(self):
        found = read(
            b'<workload name="n" config="a=1;b=1;c=1;d=1;e=1"><workflow '
            b'config="b=2;c=2;d=2;e=2"><workstage name="s" config="c=3;d=3;'
            b'e=3"><work name="w" workers="1" runtime="1" config="d=4;e=4">'
            b'<operation type="list" config="E=5"/></work></workstage>'
            b'</workflow></workload>').workload.works[0]
        self.assertEqual(dict(zip('abcde', '12345')),
                         dict(found.operations[0].config))

    def test_an_operation_divides_as_its_work_unless_it_says(self):
        found, = works_of(work(
            operation(TARGET, 'read', 'ratio="50"')
            + operation(TARGET, 'delete', 'ratio="50" division="object"'),
            'workers="1" totalOps="1" division="container"'))
        self.assertEqual([Division.CONTAINER, Division.OBJECT], [
            each.division for each in found.operations])

    def test_quotas_of_all_workers_are_the_totals(self):
        found, = works_of(work(READ, 'workers="4" totalOps="6" '
                                     'totalBytes="2"'))
        self.assertEqual([Quota(2, 1), Quota(2, 1), Quota(1, 0),
                          Quota(1, 0)], [found.quota(i) for i in range(4)])

    def test_triggers_are_a_script_and_arguments(self):
        found = read(wrapped(
            NORMAL, stage='name="s" trigger="mark.sh(a, b)"',
            workload='name="n" trigger="go"').encode()).workload
        self.assertEqual(Trigger('go', ()), found.trigger)
        self.assertEqual(Trigger('mark.sh', ('a', 'b')),
                         found.stages[0].trigger)


class TestOperations(unittest.TestCase):

    def test_a_write_has_its_fields(self):
        found = one(TARGET + 'sizes=c(64)KiB;chunked=true;content=ZERO;'
                    'hashCheck=yes;cprefix=c;csuffix=-x;oprefix=a/b/;'
                    'osuffix=.bin;name=big;object-expiration=10')
        self.assertEqual((True, Content.ZERO, True, 65536, 'big'), (
            found.chunked, found.content, found.hash_check,
            found.sizes.least, found.name))
        self.assertEqual(('c3-x', 'a/b/4.bin'), (
            found.containers.name(3), found.objects.name(4)))
        self.assertEqual('10', found.config['Object-Expiration'])

    def test_content_repeats_and_compresses_as_asked_for(self):
        found = one(TARGET + 'sizes=c(1)B;dedup=30;compress=100')
        self.assertEqual((30, 100), (found.dedup, found.compress))
        found = one(TARGET + 'sizes=c(1)B;content=zero;dedup=0')
        self.assertEqual((0, 0), (found.dedup, found.compress))

    def test_a_file_write_has_its_fields(self):
        found = one('containers=c(1);files=/srv/files;fileselection=random',
                    'filewrite')
        self.assertEqual((Constant(1), '/srv/files', FileSelection.CYCLIC), (
            found.containers.selector, found.files, found.file_selection))

    def test_a_list_is_of_the_account_a_container_or_a_prefix(self):
        self.assertIsNone(one('', 'list').containers)
        self.assertIsNone(one('containers=r(1,2)', 'list').objects)
        found = one('containers=r(1,2);objects=s(3,4)', 'list')
        self.assertEqual((Cyclic(1, 2), Sequential(3, 4)), (
            found.containers.selector, found.objects.selector))

    def test_what_is_missing_or_wrong_is_named(self):
        for kind, config, reason in (
                ('read', 'objects=c(1)', 'containers is missing'),
                ('read', 'containers=c(1)', 'objects is missing'),
                ('list', 'objects=c(1)', 'containers is missing'),
                ('write', TARGET, 'sizes is missing'),
                ('write', TARGET + 'sizes=c(1)', "sizes='c(1)': must be"),
                ('write', TARGET + 'sizes=c(1)B;content=ones',
                 "content='ones': must be one of random, zero"),
                ('write', TARGET + 'sizes=c(1)B;dedup=101', "dedup='101': "),
                ('write', TARGET + 'sizes=c(1)B;content=zero;compress=9',
                 "compress='9': must be 0, or together with content=random"),
                ('write', TARGET + 'sizes=c(1)B;chunked=maybe', 'chunked='),
                ('write', TARGET + 'sizes=u(39,99)B;hashCheck=true',
                 "must be at least 40 bytes with hashCheck"),
                ('read', 'containers=c(1);objects=h(1)', "objects='h(1)'"),
                ('filewrite', 'containers=c(1);files=/f;fileselection=x',
                 'one of u, r, s'),
                ('write', TARGET.replace('r(1,4)', 'c(1,10)')
                 + 'sizes=c(1)MB', "containers='c(1,10)': must be c(n)")):
            found, = refusals_of(wrapped(work(operation(config, kind))))
            self.assertTrue(found.startswith('4: '), found)
            self.assertIn(reason, found)


class TestRefusals(unittest.TestCase):

    def test_what_does_not_fit_together_is_refused(self):
        ids = ''.join(operation(TARGET, 'read', 'ratio="50" id="a"')
                      for _ in range(2))
        keys = ';'.join('k%d=1' % number for number in range(201))
        for text, refusal in (
                (wrapped(work(READ, 'workers="1" rampup="5"')),
                 '4: work w has no limit: one of runtime, totalOps, '
                 'totalBytes must be greater than 0'),
                (wrapped(work(READ, 'workers="1" runtime="5" config="%s"'
                              % keys)),
                 '4: config has 201 keys: at most 200 are allowed'),
                (wrapped(NORMAL, above='<auth type="mock"/>' * 2),
                 '1: a second auth in one workload'),
                (wrapped(work(ids)),
                 '4: id=a: must be another in each operation of a work'),
                (wrapped('<work type="init" workers="1" config="containers='
                         'u(1)"/>'),
                 '4: containers has no end, and a special work goes through '
                 'all of it'),
                (wrapped(NORMAL, above='<auth/>'), "1: auth type='': must be"),
                (wrapped(NORMAL, stage='name="s" closuredelay="-1"'),
                 "3: closuredelay='-1': must be"),
                *((wrapped(work(operation(TARGET, 'read', wrong))),
                   '4: %s=' % wrong.partition('=')[0]) for wrong in (
                       'ratio="101"', 'ratio="-1"', 'division=""')),
                *((wrapped(NORMAL.replace('"read"', '"%s"' % kind)),
                   "4: type='%s': must be one of" % kind)
                  for kind in ('', 'attach')),
                (wrapped(work(operation(TARGET, 'init'))),
                 "4: type='init': must be one of read, write, filewrite, "
                 'delete, list, head, post, append, bulkdelete; to '
                 'init, make a work')):
            found, = refusals_of(text)
            self.assertIn(refusal, found)

    def test_what_has_no_effect_is_warned_of(self):
        for text, *expected in (
                ('<work type="init" workers="1" runtime="9" config='
                 '"containers=r(1,2)">%s</work>' % READ,
                 '4: runtime is ignored: a work of type init sets it',
                 '4: ignored: a work of type init has its own operation'),
                ('<work type="delay"/>', 'closuredelay is 0'),
                (work(operation(TARGET, 'read'), 'workers="5" totalOps="1" '
                      'division="container"'), '4: division=container: 4 '
                 'for 5 workers, so that some share'),
                (NORMAL.replace('</work>', '<work/></work>'),
                 '4: the element \'work\' of work is ignored'),
                (work(READ, 'workers="1" rampup="5" totalOps="1"'),
                 'rampup')):
            found = warnings_of(wrapped(text))
            self.assertEqual(len(expected), len(found))
            for words, warning in zip(expected, found):
                self.assertIn(words, warning)
        self.assertEqual(0, works_of(text)[0].rampup)

    def test_ratios_that_do_not_sum_to_100_are_refused(self):
        for ratios, total in (((50, 49), 99), ((100, 1), 101), ((0, 0), 0),
                              ((), 0)):
            text = wrapped(work(''.join(
                operation(TARGET, 'read', 'ratio="%d"' % ratio)
                for ratio in ratios)))
            self.assertEqual(['4: the ratios of the operations of work w '
                              'sum to %d: must be 100' % total],
                             refusals_of(text))

    def test_attributes_out_of_bounds_are_refused_by_name(self):
        for text in ('workers="0"', 'workers="-1"', 'workers="1.5"',
                     'workers="1000001"',
                     'workers=""', 'interval="0"', 'runtime="-1"',
                     'runtime="30s"', 'rampup="-1"', 'rampdown="1.5"',
                     'afr="-1"', 'totalOps="x"', 'division="all"',
                     'type="warmup"'):
            key = text.partition('=')[0]
            attributes = {'workers': '1', 'runtime': '1'}
            attributes.pop(key, None)
            found = refusals_of(wrapped(work(READ, text + ' ' + ' '.join(
                '%s="%s"' % each for each in attributes.items()))))
            self.assertRegex(found[0], r"^4: %s='.*must be " % key)

    def test_names_that_turn_the_direction_of_text_are_refused(self):
        for name in ('a\u202eb', 'a\u2066b', '\u200fa'):
            self.assertRegex(refusals_of(wrapped(work(
                attributes='name="x" workers="1" runtime="1"').replace(
                    'name="w"', '').replace('"x"', '"%s"' % name)))[0],
                'without control characters')

    def test_what_must_be_there_is_named(self):
        for text, reason in (
                ('<workload/>', 'the name of a workload is missing'),
                ('<workload/>', 'a workload must have a workflow'),
                ('<workload name="n"><workflow/></workload>',
                 'a workflow must have a workstage'),
                (wrapped(), 'a workstage must have a work'),
                (wrapped(NORMAL, stage=''),
                 'the name of a workstage is missing'),
                (wrapped('<work workers="1" runtime="1">%s</work>' % READ),
                 'the name of a work is missing'),
                (wrapped(work(READ, 'runtime="1"')), 'workers is missing'),
                (wrapped(work('<operation/>')),
                 'the type of an operation is missing'),
                ('<work/>', 'the root is work: must be workload')):
            self.assertIn(reason, '; '.join(refusals_of(text)))

    def test_a_type_without_an_adaptor_is_refused_where_it_stands(self):
        above = '<storage type="ampli"/><auth type="httpauth"/>'
        self.assertEqual(
            ["1: storage type='ampli': must be one of none, mock, swift, "
             "s3; no adaptor for another is installed",
             "1: auth type='httpauth': must be one of none, mock, swauth, "
             "tempauth, keystone, token; no adaptor for another is installed"],
            sorted(refusals_of(wrapped(NORMAL, above=above)), reverse=True))

    def test_an_adaptor_that_is_installed_is_accepted(self):
        document = read(wrapped(
            NORMAL, above='<storage type="ampli"/>').encode(),
            Adaptors(storage=('ampli',)))
        self.assertEqual('ampli', document.workload.works[0].storage.type)

    def test_all_that_is_wrong_is_found_at_once_in_order(self):
        found = refusals_of(wrapped(
            work(READ, 'workers="x" runtime="1"'),
            work(operation('', 'read')),
            work(READ, 'workers="1"')))
        self.assertEqual(['4', '5', '6'],
                         [each.partition(':')[0] for each in found])

    def test_what_is_unknown_is_ignored_with_a_warning(self):
        self.assertEqual(
            ["1: the element 'note' of workload is ignored; known: auth, "
             "storage, workflow",
             "4: the attribute 'totalops' of work is ignored; known: name, "
             "type, workers, interval, division, runtime, rampup, rampdown, "
             "totalOps, totalBytes, afr, driver, config",
             "4: config: 'huh' is ignored: it has no key and ="],
            warnings_of(wrapped(
                work(operation('huh', 'list'),
                     'workers="1" runtime="1" totalops="3"'),
                above='<note><work/></note>')))
