"""``python -m atoll`` is the command ``atoll``."""

import sys

from .cli import main

sys.exit(main())
