"""``python -m spark_mlfs.cli``: `spark-mlfs` where its script is not on the path."""

import sys

if __name__ == "__main__" and not getattr(sys.flags, "safe_path", False):
    del sys.path[0]  # the working folder, whose modules are not the command's

from .command import main

if __name__ == "__main__":
    sys.exit(main())
