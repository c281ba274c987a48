// SPDX-License-Identifier: Apache-2.0
// Forms that cannot be taken back ask first.

for (const form of document.querySelectorAll('form[data-confirm]')) {
  form.addEventListener('submit', (event) => {
    if (!window.confirm(form.dataset.confirm)) {
      event.preventDefault();
    }
  });
}
