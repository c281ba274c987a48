// SPDX-License-Identifier: Apache-2.0
// The page of one workload.

import './confirm.js';
import {announce, h, show, table} from './dom.js';
import {size} from './format.js';
import {get, poll} from './poll.js';
import * as view from './run.js';

const live = document.getElementById('live');
const path = '/v1/workloads/' + encodeURIComponent(live.dataset.id);
const title = document.title;
let before = null;

const downloads = (files) => table(
    'To download', ['File', 'Size'], files.map((each) => [
      h('a', {href: path + '/files/' + encodeURIComponent(each.name),
              download: each.name}, each.name), size(each.size)]));

/** '' if there is nothing in it. */
function section(heading, ...parts) {
  return parts.some(Boolean) ? h(
      'section', {}, h('h2', {}, heading),
      parts.map((part) => h('div', {}, part))) : '';
}

async function look() {
  const run = await get(path);
  const done = view.ended(run);
  const files = done ? (await get(path + '/files')).files : [];
  show(live, view.headline(run), view.reasons(run), view.summary(run),
       view.warnings(run),
       section('Over time', view.plots(run, !done)),
       section('Figures', view.metrics(run), view.failures(run),
               view.stages(run), view.works(run), view.drivers(run),
               view.workDrivers(run)),
       section('Files', downloads(files)));
  document.getElementById('cancel').hidden = done;
  document.title = run.state + ': ' + title;
  const news = view.changes(before, run);
  if (news) {
    announce(news);
  }
  before = run;
  return !done;
}

poll(look);
