"""The methods, one line each: the name users write, and where the class is."""

from __future__ import annotations

from ..registry import Registry
from .base import Method

TEXT_METHOD = "quota"  # of the words of texts, where none is named: notebooks/how-to/text.md
DEFAULT_METHOD = "forward"  # the best mean rank of the fixed methods: notebooks/which-method.md

METHODS: Registry[Method] = Registry(
    "method",
    __name__,
    {
        "mim": "mim.MIM",
        "jmi": "jmi.JMI",
        "cmi": "cmi.CMI",
        "chi2": "chi2.Chi2",
        "quota": "quota.Quota",
        "ppt-cmi": "ppt_cmi.PPTCMI",
        "pmu": "pmu.PMU",
        "d2f": "d2f.D2F",
        "mdmr": "mdmr.MDMR",
        "scls": "scls.SCLS",
        "lrfs": "lrfs.LRFS",
        "fimf": "fimf.FIMF",
        "enm": "enm.ENM",
        "gmm": "gmm.GMM",
        "mrmr": "mrmr.MRMR",
        "igmf": "igmf.IGMF",
        "fastcan": "fastcan.FastCan",
        "forward": "forward.Forward",
        "f-statistic": "f_statistic.FStatistic",
        "fisher": "fisher.Fisher",
        "spec": "spec.SPEC",
        "gmba": "gmba.GMBA",
        "relieff": "relieff.ReliefF",
        "ridge": "ridge.Ridge",
        "lasso": "lasso.Lasso",
        "elastic-net": "elastic_net.ElasticNet",
        "rfs": "rfs.RFS",
        "csfs": "csfs.CSFS",
        "mssl": "mssl.MSSL",
        "mifs": "mifs.MIFS",
        "omfs": "omfs.OMFS",
        "msfs": "msfs.MSFS",
        "deepfs": "deepfs.DeepFS",
        "auto": "auto.Auto",
    },
)
