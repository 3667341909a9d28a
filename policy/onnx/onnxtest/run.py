"""Run a model in onnxruntime: run.py MODEL INPUTS OUTPUTS SECONDS.

INPUTS and OUTPUTS are safetensors files whose tensors are named CASE/NAME. The model is checked in full before it
runs. Prints one JSON object: the operators' versions, the number of bytes and the seconds of loading. With SECONDS
above 0 the calls of all cases are timed for so long, on one thread: the median of the rounds, by call.
"""
import json
import os
import statistics
import struct
import sys
import time

import numpy
import onnx
import onnxruntime

DTYPES = {"F32": numpy.float32, "F64": numpy.float64, "I64": numpy.int64, "U8": numpy.uint8}
NAMES = {numpy.dtype(v): k for k, v in DTYPES.items()}


def read(path):
    with open(path, "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        data = f.read()
    cases = {}
    for name, at in header.items():
        if name == "__metadata__":
            continue
        begin, end = at["data_offsets"]
        case, tensor = name.split("/", 1)
        values = numpy.frombuffer(data[begin:end], DTYPES[at["dtype"]]).reshape(at["shape"])
        cases.setdefault(int(case), {})[tensor] = values
    return [cases[i] for i in sorted(cases)]


def write(path, cases):
    header, data, at = {}, [], 0
    for i, case in enumerate(cases):
        for name, values in case.items():
            values = numpy.ascontiguousarray(values)
            raw = values.tobytes()
            header[f"{i}/{name}"] = {
                "dtype": NAMES[values.dtype], "shape": list(values.shape), "data_offsets": [at, at + len(raw)],
            }
            data.append(raw)
            at += len(raw)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(data))


def session(path, threads=1):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = threads
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def seconds_a_call(run, names, feeds, seconds):
    rounds, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end:
        begun = time.perf_counter()
        for feed in feeds:
            run.run(names, feed)
        rounds.append((time.perf_counter() - begun) / len(feeds))
    return statistics.median(rounds) if rounds else 0


def main(path, inputs, outputs, seconds):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    begun = time.perf_counter()
    run = session(path)
    loading = time.perf_counter() - begun
    kinds = {i.name: i.type for i in [*run.get_inputs(), *run.get_overridable_initializers()]}
    names = [o.name for o in run.get_outputs()]
    feeds = [
        {n: v.astype(bool) if kinds[n] == "tensor(bool)" else v for n, v in case.items()} for case in read(inputs)
    ]
    write(outputs, [dict(zip(names, run.run(names, feed))) for feed in feeds])
    print(json.dumps({
        "ir": model.ir_version, "opset": {o.domain: o.version for o in model.opset_import},
        "bytes": os.path.getsize(path), "load_seconds": loading, "nodes": len(model.graph.node),
        "call_seconds": seconds_a_call(run, names, feeds, float(seconds)),
        "metadata": {p.key: p.value for p in model.metadata_props},
        "inputs": {i.name: i.shape for i in run.get_inputs()}, "outputs": {o.name: o.shape for o in run.get_outputs()},
    }))


if __name__ == "__main__":
    main(*sys.argv[1:])
