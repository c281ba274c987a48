// SPDX-License-Identifier: Apache-2.0
// What runs and what waits.

import './confirm.js';
import {announce, badge, h, show, table} from './dom.js';
import {moment, short} from './format.js';
import {get, poll} from './poll.js';
import * as view from './run.js';

// Looks between two at the whole list.
const SELDOM = 5;
const MOST_ENDED = 10;
const running = document.getElementById('running');
const lists = document.getElementById('lists');
let all = [];
let drivers = [];
let looks = 0;
let before = null;

const link = (run) => h('a', {href: '/workloads/' + run.id}, run.id);

async function refresh() {
  all = (await get('/v1/workloads')).workloads;
  drivers = (await get('/v1/drivers')).drivers;
}

function waiting() {
  const found = all.filter((each) => each.state === 'queuing');
  return h('section', {}, h('h2', {}, 'Waiting'), found.length ?
    table('The next one first', ['Workload', 'Name', 'Submitted'],
          found.map((each) => [link(each), each.name,
                               moment(each.submitted)])) :
    h('p', {}, 'Nothing waits.'));
}

function recent() {
  const found = all.filter(view.ended).slice(-MOST_ENDED).reverse();
  return found.length ? h(
      'section', {}, h('h2', {}, 'Ended last'),
      table('The latest first', ['Workload', 'Name', 'State', 'Stopped'],
            found.map((each) => [link(each), each.name, badge(each.state),
                                 moment(each.stopped)]))) : '';
}

function hosts() {
  return h('section', {}, h('h2', {}, 'Drivers'),
           table('As they are configured, and as their clocks were found',
                 ['Driver', 'URL', 'Clock offset s', 'Round trip s'],
                 drivers.map((each) => [
                   each.name, each.url, short(each.clock_offset_s),
                   short(each.round_trip_s)])));
}

function now(run) {
  if (!run) {
    return [h('h2', {}, 'Running'), h('p', {}, 'Nothing runs. ', h(
        'a', {href: '/submit'}, 'Submit a workload'), '.')];
  }
  return [h('h2', {}, 'Running: ', h('a', {href: '/workloads/' + run.id},
                                     run.id + ' ' + run.name)),
          view.headline(run), view.plots(run, true), view.metrics(run)];
}

async function look() {
  if (looks++ % SELDOM === 0) {
    await refresh();
  }
  const at = all.find((each) => each.state === 'processing');
  const run = at ? await get('/v1/workloads/' + at.id) : null;
  const news = run && before && before.id === run.id ?
    view.changes(before, run) : null;
  if (run && view.ended(run)) {
    looks = 0;
  }
  if (news) {
    announce(news);
  }
  before = run;
  show(running, ...now(run));
  show(lists, waiting(), recent(), hosts());
}

poll(look);
