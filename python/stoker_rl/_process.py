"""A `stoker step-server`, which steps the copies of an environment: in memory that both see, all else over two pipes."""

from __future__ import annotations

import json
import mmap
import os
import platform
import secrets
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from pathlib import Path
from typing import Any

import numpy as np

if os.name != "nt":
    import fcntl

PROTOCOL = "environments/2"
HELLO, OPEN, STEP, WAKE, SAVE, LOAD, MASK, DECIDE, ANSWER, FAILURE = range(10)
ADVANCE, BEGIN, LEAVE = range(3)
ASKED, FRAMES = 0, 1  # words of the memory: ours,
DONE, FAILED, ENDED, REPLACED, SLEEPS = range(16, 21)  # and the server's
INSIDE = Path(__file__).parent / "bin" / ("stoker.exe" if os.name == "nt" else "stoker")  # where pip has built it
_HEADER = struct.Struct("=II")
_MOST_LOOKS, _LEAST_LOOKS = 4096, 64  # some 120 and 2 microseconds
_SOON = 1e-4  # seconds
_WEAK = platform.machine().lower() not in ("x86_64", "amd64")
_FORKED = "the environment was made in another process: make it in the one that steps it"
_THREADS = "two threads use one environment: give each thread its own, or a lock"


def several(given: Any) -> list[str]:
    """What is given as a list, as a single text, or not at all."""
    return [given] if isinstance(given, str) else list(given or ())


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
    """One step server. arrays are parts of the memory, by name; they change with the next step."""

    def __init__(self, request: dict[str, Any], stoker: str | None = None) -> None:
        run = program(stoker)
        self._lock = threading.Lock()
        self._owner = os.getpid()
        self._forked = False
        _ALIVE.add(self)
        self._owed = 0  # answers of calls that were interrupted, to be dropped
        self._got = bytearray()  # of the next answer
        self._looks = range(_MOST_LOOKS)
        # In a group of its own: Ctrl-C ends a call here, not the server.
        apart: dict[str, Any] = {"creationflags": 0x200} if os.name == "nt" else {"start_new_session": True}
        name, file = _memory()
        self._log = tempfile.TemporaryFile()
        try:
            self._child = subprocess.Popen([run, "step-server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                                           bufsize=0, pass_fds=() if file is None else (file,), **apart)
        except OSError as e:
            self._log.close()
            if file is not None:
                os.close(file)
            raise StokerError(f"stoker cannot be started: {e}") from e
        assert self._child.stdin and self._child.stdout
        self._to: Any = self._child.stdin
        self._from: Any = self._child.stdout
        self._words: Any = None
        shared: list[mmap.mmap] = []
        self.close = weakref.finalize(self, _end, self._child, self._log, self._owner, shared)
        try:
            kind, hello = self._receive()
            told = json.loads(hello) if kind == HELLO else {}
            if told.get("protocol") != PROTOCOL:
                raise StokerError(f"this stoker-rl speaks {PROTOCOL!r}, {run} says {told.get('protocol')!r}: "
                                  "both must come from one release")
            opened = json.loads(self._ask(OPEN, json.dumps({**request, "memory": name}).encode()))
            memory = _mapped(name, file, opened["bytes"])
        except BaseException:
            self.close()
            raise
        finally:
            if file is not None:
                os.close(file)
        shared.append(memory)
        self.spec: dict[str, Any] = opened["spec"]
        self.notes: list[str] = opened.get("notes", [])
        self.words = self._words = memoryview(memory)[:128].cast("I")
        self.arrays: dict[str, np.ndarray[Any, Any]] = {}
        for a in opened["arrays"]:
            n = int(np.prod(a["shape"]))
            self.arrays[a["name"]] = np.frombuffer(memory, a["dtype"], n, a["offset"]).reshape(a["shape"])
        self.commands, self.seeds = self.arrays.pop("commands"), self.arrays.pop("seeds")
        self.actions = [self.arrays.pop(k["name"] + "/action") for k in self.spec["kinds"]]
        for told in self.arrays.values():  # the server reads what it has shown: masks, and observations that baselines see
            told.flags.writeable = False

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("the process that steps an environment can be neither copied nor pickled: env.unwrapped.copy() is another "
                        "environment in the same state, and env.unwrapped.get_state() gives the state")

    def ready(self) -> None:
        """Called before commands, seeds and actions are written: waits for a step that an interrupted call has left."""
        w = self._words
        if self._forked or self._owed or w[ASKED] != w[DONE]:
            self._ask(STEP, b"", failing=False)

    def step(self) -> None:
        """Carry out commands, with seeds and actions; the arrays show what came of them."""
        if self._forked:
            raise StokerError(_FORKED)
        if not self._lock.acquire(False):
            raise RuntimeError(_THREADS)
        try:  # a step of a small environment takes microseconds: no frame where the server looks
            w = self._words
            if _WEAK:
                self._order()
            w[ASKED] = n = (w[ASKED] + 1) & 0xFFFFFFFF
            if w[SLEEPS]:
                self._send(WAKE, b"")
            for _ in self._looks:
                if w[DONE] == n:
                    break
            else:  # to be woken takes long, to look in vain too: longer looks only where an answer comes soon after them
                start = time.perf_counter()
                self._exchange(STEP, b"", False)
                soon = time.perf_counter() - start < _SOON
                n = len(self._looks)
                self._looks = range(min(2 * n, _MOST_LOOKS) if soon else max(n // 2, _LEAST_LOOKS))
            if _WEAK:
                self._order()
            if w[FAILED]:
                self._exchange(STEP, b"", True)
        finally:
            self._lock.release()

    def _order(self) -> None:
        """What was written before is seen before what is written after, also by processors that change the order."""
        fence = threading.Lock()
        fence.acquire()
        fence.release()
        fence.acquire()

    def save(self, copy: int) -> bytes:
        """The state of a copy in an episode."""
        return self._ask(SAVE, struct.pack("=I", copy))

    def load(self, copy: int, state: bytes) -> None:
        """Continue from a state of an equal environment; the arrays show it."""
        self._ask(LOAD, struct.pack("=I", copy) + state)

    def mask(self, copy: int, kind: int, agent: int, partial: Any) -> np.ndarray[Any, Any]:
        """The legal choices of the component after the given ones."""
        given = np.asarray(partial, np.float32).tobytes()
        return np.frombuffer(self._ask(MASK, struct.pack("=III", copy, kind, agent) + given), bool).copy()

    def decide(self, name: str, deterministic: bool) -> None:
        """Write the actions of a baseline or a policy of Stoker, for what all copies show, to actions."""
        self._ask(DECIDE, struct.pack("=I", deterministic) + name.encode())

    def _ask(self, kind: int, body: bytes, failing: bool = True) -> bytes:
        if self._forked:
            raise StokerError(_FORKED)
        if not self._lock.acquire(False):
            raise RuntimeError(_THREADS)
        try:
            return self._exchange(kind, body, failing)
        finally:
            self._lock.release()

    def _exchange(self, kind: int, body: bytes, failing: bool) -> bytes:
        """Send a frame and return the content of its answer."""
        while self._owed:
            self._receive()
            self._owed -= 1
        self._send(kind, body)
        self._owed = 1
        answer, content = self._receive()
        self._owed = 0
        if answer == FAILURE and failing:
            raise ValueError(content.decode())
        return content

    def _send(self, kind: int, body: bytes) -> None:
        view = memoryview(_HEADER.pack(kind, len(body)) + body)
        if self._words:
            self._words[FRAMES] = (self._words[FRAMES] + 1) & 0xFFFFFFFF
        try:
            while view:
                view = view[self._to.write(view):]
        except (OSError, ValueError) as e:  # ValueError: it is closed
            self._died(e)
        except BaseException:  # half a request cannot be taken back
            self.close()
            raise

    def _receive(self) -> tuple[int, bytes]:
        """The next frame. What an interruption cut is continued."""
        got = self._got
        while True:
            if len(got) >= 8:
                kind, n = _HEADER.unpack_from(got)
                if len(got) >= 8 + n:
                    content = bytes(memoryview(got)[8:8 + n])
                    self._got = got[8 + n:]
                    return kind, content
            try:
                more = self._from.read(1 << 16)
            except (OSError, ValueError) as e:
                self._died(e)
            if not more:
                self._died(None)
            got += more

    def _died(self, cause: BaseException | None) -> None:
        if not self.alive:
            raise StepServerDied("the step server is closed") from cause
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


_ALIVE: weakref.WeakSet[Process] = weakref.WeakSet()


def _after_fork() -> None:  # the memory is the other process's, too: nothing may be written there
    for p in list(_ALIVE):
        p._forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _memory() -> tuple[str, int | None]:
    """Memory to share with a program: its name there, and a file without a name in any folder. Windows has none."""
    if os.name == "nt":
        return f"stoker-{secrets.token_hex(16)}", None
    if hasattr(os, "memfd_create"):
        file = os.memfd_create("stoker")
    else:
        with tempfile.TemporaryFile() as f:
            file = os.dup(f.fileno())
    if file < 3:  # this process has closed its own
        file, low = fcntl.fcntl(file, fcntl.F_DUPFD, 3), file
        os.close(low)
    return str(file), file


def _mapped(name: str, file: int | None, size: int) -> mmap.mmap:
    if file is None:
        return mmap.mmap(-1, size, tagname=name)  # type: ignore[call-arg,unused-ignore]
    if sys.version_info >= (3, 13):
        return mmap.mmap(file, size, trackfd=False)
    return mmap.mmap(file, size)


def main() -> None:
    """The console script stoker: the program of this package."""
    if not INSIDE.exists():
        raise SystemExit("this stoker-rl has no stoker of its own: it was installed without Go; build one with `make build`")
    if os.name == "nt":
        raise SystemExit(subprocess.run([str(INSIDE), *sys.argv[1:]], check=False).returncode)
    os.execv(INSIDE, [str(INSIDE), *sys.argv[1:]])


def _end(child: subprocess.Popen[bytes], log: Any, owner: int, shared: list[mmap.mmap]) -> None:
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
    shared.clear()  # unmapped when the last array is gone
