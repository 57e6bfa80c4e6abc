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
        "cmi": "joint.CMI",
        "chi2": "filters.Chi2",
        "ppt-cmi": "joint.PPTCMI",
        "pmu": "criteria.PMU",
        "d2f": "criteria.D2F",
        "mdmr": "criteria.MDMR",
        "scls": "criteria.SCLS",
        "lrfs": "criteria.LRFS",
        "fimf": "filters.FIMF",
        "enm": "filters.ENM",
        "gmm": "filters.GMM",
        "mrmr": "mrmr.MRMR",
        "igmf": "filters.IGMF",
        "fastcan": "fastcan.FastCan",
        "forward": "forward.Forward",
        "f-statistic": "scatter.FStatistic",
        "fisher": "scatter.Fisher",
        "spec": "graphs.SPEC",
        "gmba": "graphs.GMBA",
        "relieff": "graphs.ReliefF",
        "ridge": "penalised.Ridge",
        "lasso": "penalised.Lasso",
        "elastic-net": "penalised.ElasticNet",
        "rfs": "scanned.RFS",
        "csfs": "scanned.CSFS",
        "mssl": "penalised.MSSL",
        "mifs": "factorised.MIFS",
        "omfs": "factorised.OMFS",
        "msfs": "msfs.MSFS",
        "deepfs": "deepfs.DeepFS",
        "auto": "auto.Auto",
    },
)
