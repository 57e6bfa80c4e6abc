"""Name to method, one explicit line each."""

from __future__ import annotations

from difflib import get_close_matches

from .errors import ParameterError
from .methods.base import Method
from .methods.chi2 import Chi2
from .methods.cmi import CMI
from .methods.csfs import CSFS
from .methods.d2f import D2F
from .methods.deepfs import DeepFS
from .methods.elastic_net import ElasticNet
from .methods.enm import ENM
from .methods.f_statistic import FStatistic
from .methods.fastcan import FastCan
from .methods.fimf import FIMF
from .methods.fisher import Fisher
from .methods.gmba import GMBA
from .methods.gmm import GMM
from .methods.igmf import IGMF
from .methods.jmi import JMI
from .methods.lasso import Lasso
from .methods.lrfs import LRFS
from .methods.mdmr import MDMR
from .methods.mifs import MIFS
from .methods.mim import MIM
from .methods.mrmr import MRMR
from .methods.msfs import MSFS
from .methods.mssl import MSSL
from .methods.omfs import OMFS
from .methods.pmu import PMU
from .methods.ppt_cmi import PPTCMI
from .methods.relieff import ReliefF
from .methods.rfs import RFS
from .methods.ridge import Ridge
from .methods.scls import SCLS
from .methods.spec import SPEC

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        MIM,
        JMI,
        CMI,
        Chi2,
        PPTCMI,
        PMU,
        D2F,
        MDMR,
        SCLS,
        LRFS,
        FIMF,
        ENM,
        GMM,
        MRMR,
        IGMF,
        FastCan,
        FStatistic,
        Fisher,
        SPEC,
        GMBA,
        ReliefF,
        Ridge,
        Lasso,
        ElasticNet,
        RFS,
        CSFS,
        MSSL,
        MIFS,
        OMFS,
        MSFS,
        DeepFS,
    )
}


def method(name: str) -> Method:
    """The method of that name; `ParameterError` lists the valid ones."""
    if name in METHODS:
        return METHODS[name]()
    near = get_close_matches(str(name), METHODS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ParameterError(f"there is no method {name!r}; {hint}methods are {', '.join(METHODS)}")
