"""Serve an ONNX model with KServe's Python server over onnxruntime, as its documentation shows.

usage: kserve_server.py NAME MODEL.onnx HTTP_PORT GRPC_PORT
"""
import sys

import numpy as np
import onnxruntime
from kserve import InferOutput, InferRequest, InferResponse, Model, ModelServer

TYPES = {"tensor(float)": np.float32, "tensor(bool)": np.bool_, "tensor(int64)": np.int64}


class Policy(Model):
    def __init__(self, name, path):
        super().__init__(name)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1  # one request is too small to be divided
        self.session = onnxruntime.InferenceSession(path, options)
        self.types = {i.name: TYPES[i.type] for i in self.session.get_inputs()}
        self.outputs = [o.name for o in self.session.get_outputs()]
        self.ready = True

    def predict(self, payload: InferRequest, headers=None, response_headers=None):
        feeds = {i.name: i.as_numpy().astype(self.types[i.name], copy=False) for i in payload.inputs}
        out = []
        for name, x in zip(self.outputs, self.session.run(self.outputs, feeds)):
            o = InferOutput(name=name, shape=list(x.shape), datatype="FP32")
            o.set_data_from_numpy(x, binary_data=False)
            out.append(o)
        return InferResponse(response_id=payload.id, model_name=self.name, infer_outputs=out)


name, path, http, grpc = sys.argv[1:]
sys.argv = sys.argv[:1]  # KServe reads it too
ModelServer(http_port=int(http), grpc_port=int(grpc)).start([Policy(name, path)])
