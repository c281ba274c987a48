// SPDX-License-Identifier: Apache-2.0
// Numbers and times for people, as reports/text.py writes them.

export const NOTHING = 'N/A';
const SIZES = ['B', 'KB', 'MB', 'GB', 'TB', 'PB', 'EB'];

/** Three significant digits. */
export function short(value) {
  if (value === null || value === undefined) {
    return NOTHING;
  }
  const most = Math.abs(value);
  if (most && most < 0.001) {
    return String(Number(value.toPrecision(3)));
  }
  const digits = most >= 1 ?
    Math.max(0, 3 - String(Math.trunc(most)).length) : 3;
  return value.toLocaleString('en-US', {maximumFractionDigits: digits});
}

/** Of bytes. */
export function size(value) {
  if (value === null || value === undefined) {
    return NOTHING;
  }
  let unit = 0;
  while (Math.abs(value) >= 999.5 && unit < SIZES.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return short(value) + ' ' + SIZES[unit];
}

/** Of 0 to 1. */
export function percent(value) {
  return value === null ? NOTHING :
    String(Number((100 * value).toFixed(2))) + '%';
}

const two = (value) => String(value).padStart(2, '0');

/** Of unix seconds, local. */
export function moment(when) {
  if (when === null || when === undefined) {
    return '';
  }
  const date = new Date(when * 1000);
  return date.getFullYear() + '-' + two(date.getMonth() + 1) + '-' +
      two(date.getDate()) + ' ' + two(date.getHours()) + ':' +
      two(date.getMinutes()) + ':' + two(date.getSeconds());
}

export function duration(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  const hours = Math.floor(whole / 3600);
  const rest = two(Math.floor(whole / 60) % 60) + ':' + two(whole % 60);
  return hours ? hours + ':' + rest : rest;
}
