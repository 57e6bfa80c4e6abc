"""spark-submit jobs/select.py ...: the same as `spark-mlfs select ...`; run it with --help for the
arguments."""

import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
# This file shadows the standard library's select, which pyspark imports: its folder must not be on
# the path.
sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _folder]

# imported for the library's, by a Python worker that Spark started in this folder: hand it that one
if __name__ == "select":
    del sys.modules["select"]
    import select  # noqa: F401
elif __name__ == "__main__":
    sys.path.append(os.path.dirname(_folder))  # a clone's own package, where none is installed
    from spark_mlfs.cli import main

    sys.exit(main(["select", *sys.argv[1:]]))
