"""A Spark session on one machine, with the embedded Java where there is none."""

from .local import java_home, local_session

__all__ = ["java_home", "local_session"]
