// SPDX-License-Identifier: Apache-2.0
// The page of one workload.

import './confirm.js';
import {announce, h, show, table} from './dom.js';
import {size} from './format.js';
import {get, poll} from './poll.js';
import * as view from './run.js';
import {zooming} from './zoom.js';

const live = document.getElementById('live');
const path = '/v1/workloads/' + encodeURIComponent(live.dataset.id);
const title = document.title;
let before = null;
let redraw = () => {};

const downloads = (files) => table(
    'To download', ['File', 'Size'], files.map((each) => [
      h('a', {href: path + '/files/' + encodeURIComponent(each.name),
              download: each.name}, each.name), size(each.size)]));

/** '' if there is nothing in it. */
function section(heading, ...parts) {
  return parts.some(Boolean) ? h(
      'section', {id: anchor(heading)}, h('h2', {}, heading),
      parts.map((part) => h('div', {}, part))) : '';
}

const anchor = (heading) => heading.toLowerCase().replaceAll(' ', '-');

/** Links to the sections that are there. */
function contents(sections) {
  const links = sections.filter(Boolean).map((each) => h('li', {}, h(
      'a', {href: '#' + each.id}, each.firstChild.textContent)));
  return links.length > 1 ? h('nav', {'aria-label': 'Contents'}, h(
      'ul', {class: 'contents'}, links)) : '';
}

function draw(run, files) {
  const sections = [
    section('Failures', view.failures(run)),
    section('Over time', view.plots(run, !view.ended(run))),
    section('Operations', view.metrics(run)),
    section('Stages', view.stages(run), view.works(run)),
    section('Drivers', view.drivers(run), view.workDrivers(run)),
    section('Files', downloads(files))];
  show(live, view.headline(run), view.reasons(run), view.summary(run),
       view.warnings(run), contents(sections), ...sections);
}

async function look() {
  const run = await get(path);
  const done = view.ended(run);
  const files = done ? (await get(path + '/files')).files : [];
  redraw = () => draw(run, files);
  redraw();
  document.getElementById('cancel').hidden = done;
  document.title = run.state + ': ' + title;
  const news = view.changes(before, run);
  if (news) {
    announce(news);
  }
  before = run;
  return !done;
}

zooming(live, () => redraw());
poll(look);
