"""The methods, one line each: the name users write, and where the class is."""

from __future__ import annotations

from ..registry import Registry
from .base import Method

DEFAULT_METHOD = "forward"  # the best mean rank of the fixed methods: notebooks/which-method.md

METHODS: Registry[Method] = Registry(
    "method",
    __name__,
    {
        "mim": "filters.MIM",
        "jmi": "criteria.JMI",
        "cmi": "criteria.CMI",
        "chi2": "filters.Chi2",
        "ppt-cmi": "criteria.PPTCMI",
        "pmu": "criteria.PMU",
        "d2f": "criteria.D2F",
        "mdmr": "criteria.MDMR",
        "scls": "criteria.SCLS",
        "lrfs": "criteria.LRFS",
        "fimf": "filters.FIMF",
        "enm": "filters.ENM",
        "gmm": "filters.GMM",
        "mrmr": "forward.MRMR",
        "igmf": "filters.IGMF",
        "fastcan": "forward.FastCan",
        "forward": "forward.Forward",
        "f-statistic": "filters.FStatistic",
        "fisher": "filters.Fisher",
        "spec": "graphs.SPEC",
        "gmba": "graphs.GMBA",
        "relieff": "graphs.ReliefF",
        "ridge": "regression.Ridge",
        "lasso": "regression.Lasso",
        "elastic-net": "regression.ElasticNet",
        "rfs": "scanned.RFS",
        "csfs": "scanned.CSFS",
        "mssl": "regression.MSSL",
        "mifs": "manifolds.MIFS",
        "omfs": "manifolds.OMFS",
        "msfs": "manifolds.MSFS",
        "deepfs": "deepfs.DeepFS",
        "auto": "auto.Auto",
    },
)
