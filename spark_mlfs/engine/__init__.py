"""Where statistics are computed: Spark's executors, one task, or this process, to the same bits."""
