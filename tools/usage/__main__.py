# SPDX-License-Identifier: Apache-2.0
"""``python -m tools.usage``: write the texts anew."""

import os

from tools.usage import texts

for name, text in texts().items():
    with open(os.path.join(os.path.dirname(__file__), name), 'w') as out:
        out.write(text)
