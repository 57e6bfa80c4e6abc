"""A Spark Connect server of its own process, as a program: says at which port it listens."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])  # and not this folder

if __name__ == "__main__":
    from spark_mlfs.session import java

    os.environ["JAVA_HOME"] = str(java.java_home())
    os.environ["PYTHONPATH"] = sys.path[0]
    from pyspark.sql import SparkSession

    settings = {
        "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
        "spark.connect.grpc.binding.port": sys.argv[1],
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.log.level": "OFF",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    builder.getOrCreate()
    print("listens", flush=True)
    signal.pause()
