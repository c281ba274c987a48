// SPDX-License-Identifier: Apache-2.0
// Asks again and again; less often when there is no answer, or no reader.

import {announce} from './dom.js';

const PERIOD = 1000;
const HIDDEN = 10000;
const LONGEST = 30000;
const TIMEOUT = 20000;
// Of the controller's time that one page may take: it measures meanwhile.
const SHARE = 0.25;
const SLOWEST = 5000;

const pause = (milliseconds) => new Promise((wake) => {
  const done = () => {
    document.removeEventListener('visibilitychange', done);
    clearTimeout(timer);
    wake();
  };
  const timer = setTimeout(done, milliseconds);
  document.addEventListener('visibilitychange', done);
});

/** The JSON of a path; whose session has ended logs in again. */
export async function get(path) {
  const answer = await fetch(path, {
    cache: 'no-store', credentials: 'same-origin', redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT)});
  if (answer.status === 401) {
    window.location.assign('/login');
  }
  if (!answer.ok) {
    throw new Error('the controller answers ' + answer.status);
  }
  return answer.json();
}

/**
 * Call look each second, or as often as it is cheap, until it returns false.
 *
 * @param {function} look asks the controller, and shows what it says
 */
export async function poll(look) {
  let failures = 0;
  for (;;) {
    const begin = performance.now();
    try {
      if (await look() === false) {
        return;
      }
      if (failures) {
        announce('The controller answers again.');
      }
      failures = 0;
    } catch (error) {
      failures += 1;
      const wait = Math.min(LONGEST, PERIOD * 2 ** failures);
      announce('No figures: ' + error.message + '. Next try in ' +
               wait / 1000 + ' s.');
      await pause(wait);
      continue;
    }
    await pause(document.hidden ? HIDDEN : Math.min(SLOWEST, Math.max(
        PERIOD, (performance.now() - begin) / SHARE)));
  }
}
