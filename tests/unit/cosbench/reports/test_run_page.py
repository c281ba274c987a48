# SPDX-License-Identifier: Apache-2.0
"""The page of a workload: complete, alone, and safe to open."""

import copy
import unittest
from datetime import timezone

from lxml import html

from cosbench.measure.result import Result
from cosbench.reports.run_page import run_page
from tests.unit.cosbench import results
from tests.unit.cosbench.console.sites import evil


def rendered(document):
    return run_page(Result.from_json(document), timezone.utc)


class TestRunPage(unittest.TestCase):

    def setUp(self):
        self.text = rendered(results.tiny())
        self.page = html.document_fromstring(self.text)

    def row(self, *cells):
        """The cells of the rows that begin with some."""
        return [[cell.text_content() for cell in row][:30]
                for row in self.page.iter('tr')
                if [cell.text_content() for cell in row][:len(cells)]
                == list(cells)]

    def test_it_has_the_figures_of_each_operation(self):
        self.assertEqual(
            ['s2-main', 'read', '2', '4', '0', '100%', '0.4', '400 B',
             '4 KB', '5', '2.5', '4', '8', '8', '8', '8', '8'],
            self.row('s2-main', 'read')[0])
        self.assertEqual([['s2-main', 'write', 'http 503', '1',
                           'PUT /v1/a: busy']],
                         self.row('s2-main', 'write', 'http 503'))

    def test_what_matters_comes_first(self):
        document = results.tiny()
        document.update(state='failed')
        document['stages'][1]['reason'] = '1 of 6 operations failed'
        page = html.document_fromstring(rendered(document))
        text = page.text_content()
        self.assertLess(text.index('main: 1 of 6 operations failed'),
                        text.index('Operations/s'))
        self.assertEqual(
            ['Operation', 'Operations/s', 'Bytes/s', 'p50 ms', 'p99 ms',
             'max ms', 'Failures'],
            [each.text for each in next(page.iter('thead')).iter('th')])
        self.assertEqual(
            [['s2-main, main, read', '0.4', '400 B', '4', '8', '8', '0']],
            self.row('s2-main, main, read'))

    def test_the_contents_lead_to_each_part(self):
        links = self.page.xpath('//nav//a/@href')
        self.assertGreaterEqual(len(links), 4)
        for link in links:
            self.assertEqual('h2', self.page.get_element_by_id(
                link[1:]).tag)

    def test_who_points_at_a_point_is_told_its_values(self):
        told = self.page.xpath('//circle[@class="hit"]/title/text()')
        self.assertIn('read p99: 4.02 (2.5)', told)

    def test_it_needs_nothing_else(self):
        for tag in ('script', 'link', 'img', 'iframe', 'object'):
            self.assertFalse(list(self.page.iter(tag)), tag)
        for word in ('http://', 'https://', 'url(', '@import', ' src='):
            self.assertNotIn(word, self.text)
        self.assertIn('prefers-color-scheme: dark', self.text)
        # Nor what only its workload needs.
        document = dict(results.tiny(), xml='<auth config="password=sesame"')
        self.assertNotIn('sesame', rendered(document))

    def test_each_plot_has_words_and_a_table(self):
        plots = list(self.page.iter('svg'))
        self.assertEqual(6, len(plots))
        for plot in plots:
            self.assertEqual(['title', 'desc'],
                             [each.tag for each in plot][:2])
            self.assertTrue(plot[0].text and plot[1].text)
            figure = plot.getparent()
            self.assertEqual('figure', figure.tag)
            self.assertTrue(figure.xpath('.//table//td'))
        self.assertIn(['0', 'read', '2', '0', '0.4', '3', '4.02'],
                      self.row('0', 'read'))

    def test_an_interval_that_the_work_did_not_fill_has_no_throughput(self):
        document = results.tiny()
        work = document['stages'][1]['works'][0]
        for runtime, rampdown, second in ((10, 0, '0.4'), (7, 0, 'N/A'),
                                          (7, 3, '0.4'), (0, 0, 'N/A')):
            work.update(runtime=runtime, rampdown=rampdown)
            self.page = html.document_fromstring(rendered(document))
            self.assertEqual(
                ['0.4', second], [self.row(begin, 'read')[0][4]
                                  for begin in ('0', '5')], runtime)

    def test_markup_in_names_is_text(self):
        text = rendered(evil())
        for tag in ('<script', '<img'):
            self.assertNotIn(tag, text)
        self.assertGreater(text.count('&lt;script'), 20)

    def test_works_of_other_numbers_of_workers_are_plotted_against_them(self):
        document = results.tiny()
        stage = document['stages'][1]
        other = copy.deepcopy(stage)
        other['works'][0]['workers'] = 4
        document['stages'].append(other)
        self.assertNotIn('against workers', self.text)
        text = rendered(document)
        self.assertIn('<title>Throughput against workers</title>', text)
        self.assertIn('read: the performance peaked at 2 workers', text)

    def test_lateness_is_shown_where_a_rate_was_wanted(self):
        document = results.tiny()
        self.assertNotIn('Wanted/s', self.text)
        document['stages'][1]['works'][0]['rate'] = 100
        self.assertIn('Wanted/s', rendered(document))

    def test_the_drivers_are_shown_in_each_work_by_itself(self):
        document = results.tiny()
        for stage, cpu, resent in zip(document['stages'], (99, 12, 34),
                                      (None, 7, 0)):
            stage['works'][0]['drivers'] = [{
                'name': 'd1', 'workers': 2, 'cpu_percent_p95': cpu,
                'loop_lag_ms_p99': 1.5, 'resent': resent}]
        text = rendered(document)
        self.page = html.document_fromstring(text)
        self.assertEqual([
            ['s1-init', 'init', 'd1', '2', '99', '1.5', 'N/A'],
            ['s2-main', 'main', 'd1', '2', '12', '1.5', '7'],
            ['s3-delay', 'delay', 'd1', '2', '34', '1.5', '0']],
            [self.row(*each)[0] for each in (
                ('s1-init', 'init', 'd1'), ('s2-main', 'main', 'd1'),
                ('s3-delay', 'delay', 'd1'))])
        # The work that has a section was not limited by its driver.
        self.assertNotIn('of its core', text)
        document['stages'][1]['works'][0]['drivers'][0].update(
            cpu_percent_p95=97)
        self.assertIn('Limit: driver d1 used 97% of its core',
                      rendered(document))

    def test_a_result_of_nothing_is_a_page(self):
        page = html.document_fromstring(rendered(results.document(
            [], state='cancelled', submitted=None, started=None,
            stopped=None)))
        self.assertIn('cancelled', page.text_content())
