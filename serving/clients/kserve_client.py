"""Ask a running server with KServe's client (kserve) over HTTP and gRPC, and compare what it decides.

usage: kserve_client.py HTTP GRPC ADMIN WANT.json (see triton.py)
"""
import asyncio
import json
import sys
from importlib.metadata import version

import numpy as np
from kserve import InferInput, InferRequest
from kserve.inference_client import InferenceGRPCClient, InferenceRESTClient, RESTConfig

TYPES = {"FP32": np.float32, "BOOL": np.bool_, "INT64": np.int64}


def request(want, binary):
    ins = []
    for name, t in want["inputs"].items():
        i = InferInput(name=name, shape=t["shape"], datatype=t["datatype"])
        i.set_data_from_numpy(np.array(t["data"], TYPES[t["datatype"]]).reshape(t["shape"]), binary_data=binary)
        ins.append(i)
    return InferRequest(model_name=want["model"], infer_inputs=ins, request_id="7")


def check(what, response, want):
    assert response.model_version in (None, want["version"]) and response.id == "7", (what, response)
    got = {o.name: o.as_numpy().ravel() for o in response.outputs}
    for name, numbers in want["outputs"].items():
        assert np.array_equal(got[name], np.array(numbers, np.float32)), (what, name, got[name], numbers)
    print(f"{what}: {len(got)} outputs as wanted, first {got['scores'][:4]}")


async def main():
    http, grpc, _, path = sys.argv[1:]
    want = json.load(open(path))
    print("kserve", version("kserve"))
    rest = InferenceRESTClient(RESTConfig(protocol="v2", retries=0))
    url = "http://" + http
    assert await rest.is_server_live(url) and await rest.is_server_ready(url)
    assert await rest.is_model_ready(url, want["model"])
    check("http, JSON", await rest.infer(url, request(want, False), model_name=want["model"]), want)
    check("http, binary", await rest.infer(url, request(want, True), model_name=want["model"]), want)
    await rest.close()
    async with InferenceGRPCClient(grpc, retries=0) as c:
        assert await c.is_server_live() and await c.is_server_ready() and await c.is_model_ready(want["model"])
        check("grpc, typed", await c.infer(request(want, False)), want)
        check("grpc, raw", await c.infer(request(want, True)), want)


asyncio.run(main())
