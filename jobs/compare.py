"""spark-submit jobs/compare.py ...: the same as `spark-mlfs compare ...`; run it with --help for
the arguments."""

import os
import sys

_folder = os.path.dirname(os.path.abspath(__file__))
# select.py in this folder shadows the standard library's, which pyspark imports: the folder must
# not be on the path.
sys.path[:] = [path for path in sys.path if os.path.abspath(path or ".") != _folder]

if __name__ == "__main__":
    sys.path.append(os.path.dirname(_folder))  # a clone's own package, where none is installed
    from spark_mlfs.cli import main

    sys.exit(main(["compare", *sys.argv[1:]]))
