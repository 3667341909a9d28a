"""Loads DeepRM's published code, which is for Python 2, as Python 3; for record.py and steps.py."""
import re
import sys
import types


def load(checkout, name):
    """Imports a file of the checkout as Python 3."""
    text = open(f"{checkout}/{name}.py").read()
    text = text.replace("xrange", "range").split("# ------------------------------- Unit Tests")[0]
    text = re.sub(r"^(\s*)print ([^(].*)$", r"\1pass", text, flags=re.M)
    for whole in ("job_len * 2 / 3", "job_len / 5", "max_nw_size / 2", "max_nw_size / 5", "self.backlog_size / self.time_horizon",
                  "curr_size / backlog_width"):
        text = text.replace(whole, whole.replace("/", "//"))
    module = types.ModuleType(name)
    module.print = lambda *_: None
    sys.modules[name] = module
    exec(compile(text, name + ".py", "exec"), module.__dict__)
    return module


def modules(checkout):
    """Returns the modules parameters, environment and other_agents of a checkout, without theano and matplotlib."""
    for stub in ("theano", "matplotlib", "matplotlib.pyplot"):
        sys.modules[stub] = types.ModuleType(stub)
    sys.modules["theano"].config = types.SimpleNamespace(floatX="float64")
    load(checkout, "job_distribution")
    return [load(checkout, name) for name in ("parameters", "environment", "other_agents")]
