"""What jobs/benchmark.py measures at scale and beside other packages."""
