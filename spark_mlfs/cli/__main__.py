"""``python -m spark_mlfs.cli``: `spark-mlfs` where its script is not on the path."""

import sys

from .command import main

if __name__ == "__main__":
    sys.exit(main())
