// SPDX-License-Identifier: Apache-2.0
// The page of an experiment: while it runs it is read again.

import './confirm.js';
import {announce} from './dom.js';
import {poll} from './poll.js';

const PERIOD = 5000;
let seen = 0;

async function look() {
  const found = document.getElementById('found');
  if (!found.hasAttribute('data-running')) {
    return false;
  }
  if (seen && performance.now() - seen < PERIOD) {
    return true;
  }
  seen = performance.now();
  const answer = await fetch(window.location.href, {
    cache: 'no-store', credentials: 'same-origin'});
  const next = new DOMParser().parseFromString(
      await answer.text(), 'text/html');
  const fresh = next.getElementById('found');
  if (!fresh) {
    // The session has ended.
    window.location.reload();
    return false;
  }
  const said = next.getElementById('said').textContent;
  if (said !== document.getElementById('said').textContent) {
    // Nothing else is new before it says something new: what one reads, and
    // where the focus is, stays.
    document.querySelector('main').replaceChildren(
        ...next.querySelector('main').childNodes);
    announce(said);
  }
  return true;
}

poll(look);
