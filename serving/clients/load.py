"""Measure a Stoker server beside KServe's Python server over onnxruntime, with wrk and h2load, on loopback.

usage: load.py STOKER OUT [NAME…]

STOKER is the binary; it exports zoo:NAME (default: faasconf and hops-pricer), serves the bundle, and KServe serves the
ONNX model of the same export. Both answer the same bodies. Writes OUT/load.csv and OUT/load.md.
"""
import csv
import json
import os
import platform
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy as np
from tritonclient.grpc import service_pb2 as pb

HERE = os.path.dirname(os.path.abspath(__file__))
TICK = os.sysconf("SC_CLK_TCK")
ROUNDS, SECONDS, RATE, REQUESTS = 3, 5, 1000, 60_000


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait(url, process, limit=60):
    began = time.monotonic()
    while time.monotonic() - began < limit:
        try:
            with urllib.request.urlopen(url, timeout=1) as r:
                if r.status == 200:
                    return
        except OSError:
            time.sleep(0.002)
        assert process.poll() is None, "the server has ended"
    raise TimeoutError(url)


def serve_stoker(stoker, folder, name):
    http, grpc = free_port(), free_port()
    began = time.monotonic()
    p = subprocess.Popen([stoker, "serve", f"{folder}/{name}.stoker", "--http", f"127.0.0.1:{http}", "--grpc",
                          f"127.0.0.1:{grpc}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait(f"http://127.0.0.1:{http}/v2/health/ready", p)
    return p, http, grpc, time.monotonic() - began


def serve_kserve(folder, name):
    http, grpc = free_port(), free_port()
    began = time.monotonic()
    p = subprocess.Popen([sys.executable, f"{HERE}/kserve_server.py", name, f"{folder}/{name}.onnx", str(http), str(grpc)],
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait(f"http://127.0.0.1:{http}/v2/models/{name}/ready", p)
    return p, http, time.monotonic() - began


def observation(port, name):
    """The shapes that a model takes, and a vector of numbers that it has met."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/v2/models/{name}") as r:
        shapes = {i["name"]: [1] + i["shape"][1:] for i in json.load(r)["inputs"]}
    seen = np.random.default_rng(1).random(shapes["observation"], np.float32)
    return shapes, seen


def bodies(folder, name, shapes, seen):
    """The same request as JSON, as JSON with binary tensors, and as a framed gRPC message."""
    active = [True] * shapes["active"][1]
    text = {"id": "1", "inputs": [
        {"name": "observation", "shape": shapes["observation"], "datatype": "FP32", "data": [float(f"{x:.6g}") for x in seen.ravel()]},
        {"name": "active", "shape": shapes["active"], "datatype": "BOOL", "data": active}]}
    with open(f"{folder}/json", "w") as f:
        json.dump(text, f)
    raw, flags = seen.tobytes(), np.array(active).tobytes()
    for i, b in zip(text["inputs"], (raw, flags)):
        del i["data"]
        i["parameters"] = {"binary_data_size": len(b)}
    text["parameters"] = {"binary_data_output": True}
    header = json.dumps(text).encode()
    with open(f"{folder}/binary", "wb") as f:
        f.write(header + raw + flags)
    m = pb.ModelInferRequest(model_name=name, id="1", raw_input_contents=[raw, flags])
    for i in text["inputs"]:
        m.inputs.add(name=i["name"], datatype=i["datatype"], shape=i["shape"])
    b = m.SerializeToString()
    with open(f"{folder}/grpc", "wb") as f:
        f.write(b"\0" + len(b).to_bytes(4, "big") + b)
    return len(header)


def wrk(port, name, folder):
    script = f"{folder}/post.lua"
    with open(script, "w") as f:
        f.write(f'wrk.method="POST"\nwrk.headers["Content-Type"]="application/json"\nlocal f=io.open("{folder}/json","rb")\n'
                'wrk.body=f:read("*a")\nf:close()\n')
    out = subprocess.run(["wrk", "-t1", "-c16", f"-d{SECONDS}s", "-s", script,
                          f"http://127.0.0.1:{port}/v2/models/{name}/infer"], capture_output=True, text=True, check=True).stdout
    assert "Non-2xx" not in out and "Socket errors" not in out, out
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1])


def h2load(port, path, body, log, *more):
    out = subprocess.run(["h2load", "-t1", "-d", body, "--log-file", log, *more, f"http://127.0.0.1:{port}{path}"],
                         capture_output=True, text=True, check=True).stdout
    done = re.search(r"(\d+) succeeded, (\d+) failed, (\d+) errored, (\d+) timeout", out)
    assert done and done[2] == done[3] == done[4] == "0", out
    with open(log) as f:
        times = [int(line.split("\t")[2]) for line in f if line.split("\t")[1] == "200"]
    os.unlink(log)
    return out, times


def paced(port, name, folder, clients=10):
    """The 99th percentile at RATE requests a second, in µs."""
    _, times = h2load(port, f"/v2/models/{name}/infer", f"{folder}/json", f"{folder}/log", "--h1", "-c", str(clients), "--rps",
                      str(RATE // clients), "-n", str(RATE * SECONDS), "-H", "content-type: application/json")
    return float(np.percentile(times, 50)), float(np.percentile(times, 99))


def cpu(pid):
    with open(f"/proc/{pid}/stat") as f:
        parts = f.read().rsplit(")", 1)[1].split()
    return (int(parts[11]) + int(parts[12])) / TICK


def cost(p, port, path, body, *more):
    """The server's CPU time a request, in µs."""
    before = cpu(p.pid)
    with tempfile.NamedTemporaryFile() as log:
        pass
    out, _ = h2load(port, path, body, log.name, "-c", "4", "-m", "4", "-n", str(REQUESTS), *more)
    return (cpu(p.pid) - before) / REQUESTS * 1e6


def main():
    stoker, out, *names = sys.argv[1:]
    rows = []

    def add(model, what, unit, server, values):
        rows.append([model, what, unit, server, *(f"{v:.4g}" for v in (statistics.median(values), min(values), max(values)))])
        print(*rows[-1], flush=True)

    for name in names or ["faasconf", "hops-pricer"]:
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([stoker, "export", f"zoo:{name}", "--format", "bundle,onnx", "--out", folder], check=True,
                           capture_output=True)
            ready = []
            for _ in range(10):
                p, *_, took = serve_stoker(stoker, folder, name)
                ready.append(took * 1000)
                p.send_signal(signal.SIGTERM)
                assert p.wait(30) == 0
            add(name, "ready", "ms", "stoker", ready)
            ours, http, grpc, _ = serve_stoker(stoker, folder, name)
            theirs, other, took = serve_kserve(folder, name)
            try:
                add(name, "ready", "ms", "kserve", [took * 1000])
                shapes, seen = observation(http, name)
                header = bodies(folder, name, shapes, seen)
                floats = seen.size
                rate, p50, p99 = {}, {}, {}
                for _ in range(ROUNDS):
                    for server, port in (("stoker", http), ("kserve", other)):
                        rate.setdefault(server, []).append(wrk(port, name, folder))
                        a, b = paced(port, name, folder)
                        p50.setdefault(server, []).append(a)
                        p99.setdefault(server, []).append(b)
                for what, unit, by in ((f"JSON of {floats} floats, wrk -c16", "requests/s", rate),
                                       (f"median at {RATE}/s, h2load", "µs", p50), (f"p99 at {RATE}/s, h2load", "µs", p99)):
                    for server, values in by.items():
                        add(name, what, unit, server, values)
                add(name, "requests/s, ratio", "×", "stoker/kserve", [a / b for a, b in zip(rate["stoker"], rate["kserve"])])
                add(name, "p99, ratio", "×", "stoker/kserve", [a / b for a, b in zip(p99["stoker"], p99["kserve"])])
                infer = f"/v2/models/{name}/infer"
                costs = {"HTTP/1.1, JSON": [], "HTTP/1.1, binary": [], "HTTP/2, JSON": [], "HTTP/2, binary": [], "gRPC": []}
                for _ in range(ROUNDS):
                    for what in costs:
                        if what == "gRPC":
                            costs[what].append(cost(ours, grpc, "/inference.GRPCInferenceService/ModelInfer", f"{folder}/grpc",
                                                    "-H", "content-type: application/grpc", "-H", "te: trailers"))
                            continue
                        version, _, body = what.partition(", ")
                        more = ["--h1"] if version == "HTTP/1.1" else []
                        if body == "binary":
                            more += ["-H", f"inference-header-content-length: {header}"]
                        costs[what].append(cost(ours, http, infer, f"{folder}/{body.lower()}", *more))
                for what, values in costs.items():
                    add(name, f"CPU a request, {what}", "µs", "stoker", values)
            finally:
                for p in (ours, theirs):
                    p.send_signal(signal.SIGTERM)
                ours.wait(30)
                theirs.wait(30)
    with open(f"{out}/load.csv", "w", newline="") as f:
        w = csv.writer(f)
        w.writerow(["model", "quantity", "unit", "server", "median", "least", "greatest"])
        w.writerows(rows)
    with open(f"{out}/load.md", "w") as f:
        f.write(f"{platform.machine()}, {os.cpu_count()} cores shared by servers and clients, Python {platform.python_version()}; "
                f"{ROUNDS} rounds in turn, {SECONDS} s each.\n\n| model | quantity | unit | server | median | least | greatest |\n"
                "|---|---|---|---|---:|---:|---:|\n")
        for r in rows:
            f.write("| " + " | ".join(r) + " |\n")


if __name__ == "__main__":
    main()
