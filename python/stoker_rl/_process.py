"""A `stoker step-server`, which steps the copies of an environment: frames over two pipes."""

from __future__ import annotations

import json
import os
import select
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from ._spaces import width

PROTOCOL = "environments/1"
HELLO, OPEN, STEP, SAVE, LOAD, MASK, ANSWER, FAILED = range(8)
ADVANCE, BEGIN, LEAVE = range(3)
INSIDE = Path(__file__).parent / "bin" / ("stoker.exe" if os.name == "nt" else "stoker")  # where pip has built it
_HEADER = struct.Struct("=II")
_MOST_LOOKS, _LEAST_LOOKS = 512, 8


class StokerError(RuntimeError):
    """What `stoker` said when it failed."""


class StepServerDied(StokerError):
    """The process that steps the environment has ended. reset starts another one."""


def program(stoker: str | None = None) -> str:
    """The stoker to run: the one named, that of the variable STOKER, the one in this package, or that of the PATH."""
    found = stoker or os.environ.get("STOKER") or (str(INSIDE) if INSIDE.exists() else shutil.which("stoker"))
    if not found:
        raise StokerError("there is no stoker: build it with `make build` and name it with stoker= or the variable STOKER")
    return found


class Process:
    """One step server. arrays are the parts of its last answer, by name; they change with the next one."""

    def __init__(self, request: dict[str, Any], stoker: str | None = None) -> None:
        run = program(stoker)
        self._owner = os.getpid()
        self._lock = threading.Lock()
        self._owed = 0  # answers of calls that were interrupted, to be dropped
        self._part = bytearray(), 0  # what has come of an answer, and of how many bytes
        # In a group of its own: Ctrl-C ends a call here, not the server.
        apart: dict[str, Any] = {"creationflags": 0x200} if os.name == "nt" else {"start_new_session": True}
        self._log = tempfile.TemporaryFile()
        try:
            self._child = subprocess.Popen([run, "step-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                                           bufsize=0, **apart)
        except OSError as e:
            self._log.close()
            raise StokerError(f"stoker cannot be started: {e}") from e
        assert self._child.stdin and self._child.stdout
        self._to: Any = self._child.stdin
        self._from: Any = self._child.stdout
        self._poll: Any = None
        if hasattr(select, "poll"):
            end = self._from.fileno()
            os.set_blocking(end, False)
            self._poll = select.poll()
            self._poll.register(end, select.POLLIN)
        self._looks = _MOST_LOOKS
        self.close = weakref.finalize(self, _end, self._child, self._log, self._owner)
        try:
            kind, hello = self._receive(bytearray())
            told = json.loads(bytes(hello)) if kind == HELLO else {}
            if told.get("protocol") != PROTOCOL:
                raise StokerError(f"this stoker-rl speaks {PROTOCOL!r}, {run} says {told.get('protocol')!r}: "
                                  "both must come from one release")
            opened = json.loads(bytes(self._ask(OPEN, json.dumps(request).encode())))
        except BaseException:
            self.close()
            raise
        self.spec: dict[str, Any] = opened["spec"]
        self.block = bytearray(8 + opened["bytes"])
        self._expected = _HEADER.pack(ANSWER, opened["bytes"])
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        for a in opened["arrays"]:
            n = int(np.prod(a["shape"]))
            self.arrays[a["name"]] = np.frombuffer(self.block, a["dtype"], n, 8 + a["offset"]).reshape(a["shape"])
        copies = request.get("copies", 1)
        kinds = self.spec["kinds"]
        shapes = [self.arrays[f"{k['name']}/reward"].shape for k in kinds]  # copies × agents
        wide = [width(k["action"]) for k in kinds]
        size = 9 * copies + sum(4 * int(np.prod(s)) * w for s, w in zip(shapes, wide))
        self._request = bytearray(8 + size)
        _HEADER.pack_into(self._request, 0, STEP, size)
        self.commands = np.frombuffer(self._request, np.uint8, copies, 8)
        at = 8 + copies
        self.seeds = np.frombuffer(self._request, np.uint64, copies, at)
        at += 8 * copies
        self.actions: list[np.ndarray[Any, Any]] = []
        for s, w in zip(shapes, wide):
            n = int(np.prod(s)) * w
            self.actions.append(np.frombuffer(self._request, np.float32, n, at).reshape(*s, w))
            at += 4 * n

    def step(self) -> None:
        """Carry out commands, with seeds and actions, and read the arrays."""
        if self._owed or os.getpid() != self._owner or not self._lock.acquire(blocking=False):
            self._ask(STEP, None)
            return
        try:  # what _ask does, where nothing unusual happens: a step of a small environment takes microseconds
            try:
                n = self._to.write(self._request)
            except OSError:
                raise
            except BaseException:  # half a request cannot be taken back
                self.close()
                raise
            self._owed = 1
            if n == len(self._request):
                n = self._read(self.block)
                if n == len(self.block) and self.block[:8] == self._expected:
                    self._owed = 0
                    return
                self._part = bytearray(self.block), n
                if n == 0:
                    self._died(None)
            else:
                self._send(memoryview(self._request)[n:])
            self._take(self.block)
        except OSError as e:
            self._died(e)
        finally:
            self._lock.release()

    def save(self, copy: int) -> bytes:
        """The state of a copy in an episode."""
        return bytes(self._ask(SAVE, struct.pack("=I", copy)))

    def load(self, copy: int, state: bytes) -> None:
        """Continue from a state of an equal environment; the arrays show it."""
        self._ask(LOAD, struct.pack("=I", copy) + state)

    def mask(self, copy: int, kind: int, agent: int, partial: Any) -> np.ndarray[Any, Any]:
        """The legal choices of the component after the given ones."""
        given = np.asarray(partial, np.float32).tobytes()
        return np.frombuffer(self._ask(MASK, struct.pack("=III", copy, kind, agent) + given), bool).copy()

    def _ask(self, kind: int, body: bytes | None) -> Any:
        if os.getpid() != self._owner:
            raise StokerError("the environment was made in another process: make it in the one that steps it")
        if not self._lock.acquire(blocking=False):
            raise RuntimeError("two threads use one environment: give each thread its own, or a lock")
        try:
            while self._owed:
                self._receive(bytearray())
                self._owed -= 1
            self._send(self._request if body is None else _HEADER.pack(kind, len(body)) + body)
            self._owed = 1
            return self._take(self.block if kind in (STEP, LOAD) else bytearray())
        finally:
            self._lock.release()

    def _take(self, block: bytearray) -> Any:
        """The content of the answer that is owed; an error where it is one."""
        answer, content = self._receive(block)
        self._owed = 0
        if answer == FAILED:
            raise ValueError(bytes(content).decode())
        if block and content.obj is not block:
            block[8:] = content
        return content

    def _send(self, frame: bytes | bytearray | memoryview) -> None:
        view = memoryview(frame)
        try:
            while view:
                view = view[self._to.write(view):]
        except OSError as e:
            self._died(e)
        except BaseException:  # half a request cannot be taken back
            self.close()
            raise

    def _receive(self, block: bytearray) -> tuple[int, Any]:
        """The next frame. An answer of the length of block goes there. What an interruption cut is continued."""
        buffer, got = self._part
        if not got:
            buffer = block if len(block) > 8 else bytearray(8)
        whole = 8
        while True:
            if got >= 8:
                kind, n = _HEADER.unpack_from(buffer)
                whole = 8 + n
                if len(buffer) < whole or (kind == FAILED and buffer is block):
                    buffer = bytearray(buffer[:got]) + bytearray(max(0, whole - got))
                if got == whole:
                    self._part = bytearray(), 0
                    return kind, memoryview(buffer)[8:whole]
            try:
                end = len(buffer) if got < 8 else whole
                n = self._read(memoryview(buffer)[got:end])
            except OSError as e:
                self._died(e)
            if n == 0:
                self._died(None)
            got += n
            self._part = buffer, got

    def _read(self, into: Any) -> int:
        """Bytes of the server, 0 at its end. It looks again and again for a while: to be woken takes longer than small
        environments take to step. Where that was in vain it looks less."""
        read = self._from.readinto
        n: int | None = read(into)
        if n is not None:
            return n
        for _ in range(self._looks):
            n = read(into)
            if n is not None:
                self._looks = _MOST_LOOKS
                return n
        self._looks = max(self._looks // 2, _LEAST_LOOKS)
        while n is None:
            self._poll.poll()
            n = read(into)
        return n

    def _died(self, cause: BaseException | None) -> None:
        code = self._child.wait()
        self._log.seek(0)
        said = self._log.read()[-2000:].decode(errors="replace").strip()
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        self.close()
        raise StepServerDied(f"the step server {how}" + (f": {said}" if said else "")) from cause

    @property
    def alive(self) -> bool:
        """Whether it can be asked."""
        return bool(self.close.alive)


def main() -> None:
    """The console script stoker: the program of this package."""
    if not INSIDE.exists():
        raise SystemExit("this stoker-rl has no stoker of its own: it was installed without Go; build one with `make build`")
    if os.name == "nt":
        raise SystemExit(subprocess.run([str(INSIDE), *sys.argv[1:]]).returncode)
    os.execv(INSIDE, [str(INSIDE), *sys.argv[1:]])


def _end(child: subprocess.Popen[bytes], log: Any, owner: int) -> None:
    for pipe in (child.stdin, child.stdout):
        if pipe:
            try:
                pipe.close()
            except OSError:
                pass
    if os.getpid() == owner:
        child.kill()
        child.wait()
    log.close()
