"""A Spark session on one machine, with the embedded Java where there is none."""

from .java import java_home
from .local import local_session

__all__ = ["java_home", "local_session"]
