"""Ask a running server with Triton's client (tritonclient) over HTTP and gRPC, and compare what it decides.

usage: triton.py HTTP GRPC ADMIN WANT.json

WANT.json: {"model", "version", "inputs": {name: {datatype, shape, data}}, "outputs": {name: [numbers]}}
"""
import json
import sys

import numpy as np
import tritonclient
import tritonclient.grpc as tgrpc
import tritonclient.http as thttp

TYPES = {"FP32": np.float32, "BOOL": np.bool_, "INT64": np.int64}


def inputs(module, want, **how):
    out = []
    for name, t in want["inputs"].items():
        i = module.InferInput(name, t["shape"], t["datatype"])
        i.set_data_from_numpy(np.array(t["data"], TYPES[t["datatype"]]).reshape(t["shape"]), **how)
        out.append(i)
    return out


def check(what, result, want):
    for name, numbers in want["outputs"].items():
        got = result.as_numpy(name)
        assert got is not None and np.array_equal(got.ravel(), np.array(numbers, np.float32)), (what, name, got, numbers)
    print(f"{what}: {len(want['outputs'])} outputs as wanted, first {result.as_numpy('scores').ravel()[:4]}")


def refused(what, ask, *words):
    try:
        ask()
    except Exception as e:  # every client has its own
        assert all(w in str(e) for w in words), (what, e)
        print(f"{what}: refused, {str(e)[:160]}")
        return
    raise AssertionError(f"{what}: was taken")


def main():
    http, grpc, admin, path = sys.argv[1:]
    want = json.load(open(path))
    m = want["model"]
    print("tritonclient", tritonclient.__version__ if hasattr(tritonclient, "__version__") else "")
    for kind, module, address in (("http", thttp, http), ("grpc", tgrpc, grpc)):
        c = module.InferenceServerClient(address)
        assert c.is_server_live() and c.is_server_ready() and c.is_model_ready(m) and not c.is_model_ready("nobody")
        assert c.is_model_ready(m, want["version"])
        how = {} if kind == "http" else {"as_json": True}
        print(kind, "server", c.get_server_metadata(**how))
        print(kind, "model", str(c.get_model_metadata(m, **how))[:200], "…")
        if kind == "http":
            check("http, JSON in, binary out", c.infer(m, inputs(module, want, binary_data=False)), want)
            names = [thttp.InferRequestedOutput(n, binary_data=False) for n in want["outputs"]]
            check("http, binary in, JSON out", c.infer(m, inputs(module, want), outputs=names), want)
            refused("http, gzip", lambda: c.infer(m, inputs(module, want), request_compression_algorithm="gzip"), "Content-Encoding")
        check(f"{kind}, raw", c.infer(m, inputs(module, want), model_version=want["version"], request_id="7"), want)
        check(f"{kind}, a sequence", c.infer(m, inputs(module, want), sequence_id=5, sequence_start=True, sequence_end=True), want)
        first = next(iter(want["inputs"].values()))
        bad = module.InferInput("observation", [1, 2], "FP32")
        bad.set_data_from_numpy(np.zeros((1, 2), np.float32))
        refused(f"{kind}, a wrong shape", lambda: c.infer(m, [bad]), "shape is [1 2], want [-1", str(first["shape"][1]))
        refused(f"{kind}, an unknown model", lambda: c.infer("nobody", inputs(module, want)), 'no model is called "nobody"')
    c = thttp.InferenceServerClient(admin)
    print("admin index", c.get_model_repository_index())
    c.unload_model(m)
    assert not thttp.InferenceServerClient(http).is_model_ready(m)
    c.load_model(m)
    assert thttp.InferenceServerClient(http).is_model_ready(m)
    print("admin: unloaded and loaded again")


main()
