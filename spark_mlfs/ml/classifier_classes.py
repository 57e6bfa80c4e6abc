"""An estimator for every classifier: `help` tells what each takes, and editors read the stub."""

from .classifiers import ESTIMATORS

__getattr__ = ESTIMATORS.named  # makes a class when it is first asked for
