"""The compiled half of ``workers.py``: the waiting, chunking and calling loops of workers, as LLVM text.

All threads share one block of memory: a header, and after it :data:`LINE` bytes for each
participant. :func:`source` writes the functions that work on it:

``parallel_for(block, function, argument, first, last, threads)``
    cut ``range(first, last)`` into segments, call the workers, work, and wait for them;
``worker(block, me)``
    the loop of worker ``me``: wait for a call, work, wait again;
``retire(block)``
    end all workers; returns 0 if a loop is running;
``pauses(number)``
    execute ``number`` pause instructions;
``launches(block, table, registers, threads)``
    run several kernels, one after the other; returns the flags of all of them.

The ``table`` begins with the number of patches and the number of kernels. A patch has three words: where to
write an address, the register that the address is relative to, and the offset in bytes. A kernel has five: function,
argument, the first chunk, the end of the chunks, and a flag for sharing by threads. The first word of an argument holds the flags that
the kernel raised.
"""

from __future__ import annotations

from .function import Function, Module
from .machine import Machine

FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call on the machines that can do this."""

MOST_PARTICIPANTS = 1024
LINE = 128
"""Bytes per participant: two cache lines, one for its segment and one for its state."""

HEADER = 256
"""Bytes before the first participant."""

TEAM = 16
"""Offset of the number of participants (i64)."""

SPIN = 8
"""Offset of the number of pauses of a worker before it sleeps (i64)."""

_CALLER_SLEEPS, _ALONE, _LAST_ALONE, _FUNCTION, _ARGUMENT, _PARTICIPANTS = 4, 24, 32, 128, 136, 144
"""Offsets in the header: a flag for a sleeping caller (i32); the remaining loops that the caller does alone, and their number the
last time; function and argument of the shared loop, and its number of participants. Byte 0 has a flag for a shared loop (i32)."""

_END, _STATE, _ASLEEP = 8, 64, 4
"""Offsets in the memory of a participant: the end of its segment, whose next index is at byte 0, and its state (i32); and the
offset in a state of the flag for a sleeping worker (i32)."""

_IDLE, _POSTED, _RUNNING, _STOP = range(4)
"""The states of a worker; see ``workers.py``."""

_BITE = 3
"""A bite is the rest of a segment shifted right by this number: the last bites are small, so all participants end together."""

_WAIT, _WAKE, _ALL = 128, 129, 2147483647


class _Writer(Function):
    """A function on the memory that threads share."""

    def __init__(self, module: Module, header: str) -> None:
        super().__init__(module, f"define {header}")
        self.futex = FUTEX["x86_64" if module.machine.x86 else "aarch64"]

    def at(self, base: str, offset: int | str) -> str:
        """The address ``offset`` bytes after ``base``."""
        return self.op(f"getelementptr i8, ptr {base}, i64 {offset}")

    def get(self, base: str, offset: int, kind: str = "i64", order: str = "") -> str:
        """Load from memory; atomically if an ``order`` is given."""
        at = self.at(base, offset)
        atomic, end = ("atomic ", f" {order}, align {int(kind[1:]) // 8}") if order else ("", "")
        return self.op(f"load {atomic}{kind}, ptr {at}{end}")

    def put(self, value: str, base: str, offset: int, order: str = "") -> None:
        """Store a value, whose text begins with its type."""
        at = self.at(base, offset)
        atomic, end = ("atomic ", f" {order}, align {int(value[1:3]) // 8}") if order else ("", "")
        self.line(f"store {atomic}{value}, ptr {at}{end}")

    def swap(self, at: str, old: str, new: str, orders: str) -> str:
        """Compare and exchange: replace ``old`` by ``new``. The result is an ``i1``, true on success."""
        pair = self.op(f"cmpxchg ptr {at}, {old}, {new} {orders}")
        return self.op(f"extractvalue {{ {old.split()[0]}, i1 }} {pair}, 1")

    def participant(self, number: str) -> str:
        """Address of the memory of a participant."""
        offset = self.op(f"mul i64 {number}, {LINE}")
        return self.at("%block", self.op(f"add i64 {offset}, {HEADER}"))

    def state(self, number: str) -> str:
        """Address of the state of a worker."""
        return self.at(self.participant(number), _STATE)

    def wait(self, state: str, value: int) -> None:
        """Sleep as long as the state is ``value``."""
        self._call(f"{state}, i32 {_WAIT}, i32 {value}, ptr null, ptr null, i32 0")

    def wake(self, state: str, most: int = 1) -> None:
        """Wake threads that wait at a state."""
        self._call(f"{state}, i32 {_WAKE}, i32 {most}")

    def _call(self, arguments: str) -> None:
        self.op(f"call i64 (i64, ...) @syscall(i64 {self.futex}, ptr {arguments})")

    def pause(self) -> None:
        """Wait for a moment."""
        name, argument = (
            ("x86.sse2.pause", "") if self.module.machine.x86 else ("aarch64.hint", "i32 1")
        )
        self.module.declare(f"llvm.{name}", "void", argument[:3])
        self.line(f"call void @llvm.{name}({argument})")

    def watch(self, state: str, value: int, spin: str) -> str:
        """Poll a state while it is ``value``, for at most ``spin`` pauses. The result is the last state."""

        def is_same(pauses: str, now: str) -> str:
            same = self.op(f"icmp eq i32 {now}, {value}")
            return self.op(f"and i1 {same}, {self.op(f'icmp ult i64 {pauses}, {spin}')}")

        def look(pauses: str, _: str) -> tuple[str, str]:
            self.pause()
            return self.op(f"add i64 {pauses}, 1"), self.get(state, 0, "i32", "acquire")

        now = self.get(state, 0, "i32", "acquire")
        return self.repeat("watch", is_same, look, ("i64", "0"), ("i32", now))[1]

    def nanoseconds(self) -> str:
        """The time."""
        time = self.allocate("[2 x i64]", 8)
        self.op(f"call i32 @clock_gettime(i32 1, ptr {time})")
        seconds = self.op(f"mul i64 {self.word(0, base=time)}, 1000000000")
        return self.op(f"add i64 {seconds}, {self.word(1, base=time)}")

    def work(self, me: str) -> None:
        """Take part in the shared loop."""
        self.line(f"call void @work(ptr %block, i64 {me})")

    def wake_children(self, me: str, participants: str) -> None:
        """Wake the workers that this participant is responsible for."""
        self.line(f"call void @wake_children(ptr %block, i64 {me}, i64 {participants})")


def source(here: Machine) -> str:
    """The LLVM text of the loops for a machine."""
    module = Module(here)
    module.declare("syscall", "i64", "i64, ...")
    module.declare("clock_gettime", "i32", "i32, ptr")
    for write in (_pauses, _wake_children, _work, _worker, _parallel_for, _launches, _retire):
        write(module)
    return module.text()


def _pauses(module: Module) -> None:
    body = _Writer(module, "void @pauses(i64 %number)")
    body.loop("pause", "0", "%number", lambda _: body.pause())
    body.end("pauses")


def _wake_children(module: Module) -> None:
    """Participant p wakes 2p+1 and 2p+2: a large team is awake after a logarithmic number of calls."""
    body = _Writer(
        module, "internal void @wake_children(ptr %block, i64 %me, i64 %participants) noinline"
    )
    twice = body.op("shl i64 %me, 1")

    def child(number: str) -> None:
        which = body.op(f"add i64 {twice}, {number}")
        with body.when(body.op(f"icmp ult i64 {which}, %participants")):
            state = body.state(which)
            now = body.get(state, 0, "i32", "seq_cst")
            with body.when(body.op(f"icmp eq i32 {now}, {_POSTED}")):
                asleep = body.get(state, _ASLEEP, "i32", "seq_cst")
                with body.when(body.op(f"icmp ne i32 {asleep}, 0")):
                    body.wake(state)

    body.loop("child", "1", "3", child)
    body.end("wake_children")


def _work(module: Module) -> None:
    """Take bites of the own segment, then of the others, until all segments are empty."""
    body = _Writer(module, "internal void @work(ptr %block, i64 %me) noinline")
    function = body.op(f"load ptr, ptr {body.at('%block', _FUNCTION)}")
    argument = body.op(f"load ptr, ptr {body.at('%block', _ARGUMENT)}")
    participants = body.get("%block", _PARTICIPANTS)

    def segment(number: str) -> None:
        turn = body.op(f"add i64 %me, {number}")
        over = body.op(f"icmp uge i64 {turn}, {participants}")
        wrapped = body.op(f"sub i64 {turn}, {participants}")
        line = body.participant(body.op(f"select i1 {over}, i64 {wrapped}, i64 {turn}"))
        end = body.get(line, _END)

        def is_left(low: str) -> str:
            return body.op(f"icmp slt i64 {low}, {end}")

        def bite(low: str) -> tuple[str]:
            part = body.op(f"lshr i64 {body.op(f'sub i64 {end}, {low}')}, {_BITE}")
            high = body.op(f"add i64 {low}, {body.larger(part, '1')}")
            mine = body.swap(line, f"i64 {low}", f"i64 {high}", "monotonic monotonic")
            with body.when(mine, "run"):
                body.line(f"call void {function}(ptr {argument}, i64 {low}, i64 {high})")
            return (body.get(line, 0, order="monotonic"),)

        body.repeat("bite", is_left, bite, ("i64", body.get(line, 0, order="monotonic")))

    body.loop("segment", "0", participants, segment)
    body.end("work")


def _worker(module: Module) -> None:
    body = _Writer(module, "void @worker(ptr %block, i64 %me)")
    state = body.state("%me")

    def is_wanted(now: str) -> str:
        return body.op(f"icmp ne i32 {now}, {_STOP}")

    def sleep() -> None:
        body.put("i32 1", state, _ASLEEP, "seq_cst")
        body.wait(state, _IDLE)
        body.put("i32 0", state, _ASLEEP, "seq_cst")

    def take() -> None:
        mine = body.swap(state, f"i32 {_POSTED}", f"i32 {_RUNNING}", "acq_rel acquire")
        with body.when(mine, "run"):
            body.wake_children("%me", body.get("%block", _PARTICIPANTS))
            body.work("%me")
            body.put(f"i32 {_IDLE}", state, 0, "seq_cst")
            caller = body.get("%block", _CALLER_SLEEPS, "i32", "seq_cst")
            with body.when(body.op(f"icmp ne i32 {caller}, 0"), "tell"):
                body.wake(state, _ALL)

    def turn(_: str) -> tuple[str]:
        now = body.watch(state, _IDLE, body.get("%block", SPIN, order="monotonic"))
        body.choose(body.op(f"icmp eq i32 {now}, {_IDLE}"), sleep, take)
        return (body.get(state, 0, "i32", "acquire"),)

    body.repeat("idle", is_wanted, turn, ("i32", str(_IDLE)))
    body.end("worker")


def _parallel_for(module: Module) -> None:
    """A worker that loses its core in the middle of a piece keeps the caller waiting. Where the caller has waited for longer
    than it would have taken for the rest, it does the next loops alone: 16 of them, and twice as many each time that
    happens again."""
    body = _Writer(
        module,
        "void @parallel_for(ptr %block, ptr %function, ptr %argument, i64 %first, i64 %last, i64 %threads)",
    )
    slept = body.allocate("i32", 4)
    count = body.op("sub i64 %last, %first")

    def alone() -> None:
        body.line("call void %function(ptr %argument, i64 %first, i64 %last)")

    def alone_again() -> None:
        body.put(f"i64 {body.op(f'sub i64 {turns}, 1')}", "%block", _ALONE, "monotonic")
        alone()

    def claim() -> None:
        body.choose(body.swap("%block", "i32 0", "i32 1", "acquire monotonic"), share, alone)

    def share() -> None:
        body.put("ptr %function", "%block", _FUNCTION)
        body.put("ptr %argument", "%block", _ARGUMENT)
        body.put(f"i64 {participants}", "%block", _PARTICIPANTS)
        quotient = body.op(f"udiv i64 {count}, {participants}")
        remainder = body.op(f"urem i64 {count}, {participants}")

        def cut(number: str, low: str) -> tuple[str, str]:
            extra = body.op(f"zext i1 {body.op(f'icmp ult i64 {number}, {remainder}')} to i64")
            high = body.op(f"add i64 {low}, {body.op(f'add i64 {quotient}, {extra}')}")
            line = body.participant(number)
            body.put(f"i64 {low}", line, 0, "monotonic")
            body.put(f"i64 {high}", line, _END)
            return body.op(f"add i64 {number}, 1"), high

        def post(number: str) -> None:
            body.put(f"i32 {_POSTED}", body.state(number), 0, "seq_cst")

        body.advance("cut", "0", participants, cut, ("i64", "%first"))
        body.loop("post", "1", participants, post)
        body.line(f"store i32 0, ptr {slept}")
        began = body.nanoseconds()
        body.wake_children("0", participants)
        body.work("0")
        ended = body.nanoseconds()
        body.loop("join", "1", participants, join)
        last = body.get("%block", _LAST_ALONE)
        long = body.op(f"load i32, ptr {slept}")

        def judge() -> None:
            twice = body.op(f"shl i64 {body.op(f'sub i64 {ended}, {began}')}, 1")
            waited = body.op(f"sub i64 {body.nanoseconds()}, {ended}")
            with body.when(body.op(f"icmp sgt i64 {waited}, {twice}"), "late"):
                more = body.larger(body.op(f"shl i64 {last}, 1"), "16")
                most = body.smaller(more, "1024")
                body.put(f"i64 {most}", "%block", _LAST_ALONE)
                body.put(f"i64 {most}", "%block", _ALONE, "monotonic")

        def forget() -> None:
            with body.when(body.op(f"icmp ne i64 {last}, 0"), "forget"):
                body.put(f"i64 {body.op(f'lshr i64 {last}, 1')}", "%block", _LAST_ALONE)

        body.choose(body.op(f"icmp ne i32 {long}, 0"), judge, forget)
        body.put("i32 0", "%block", 0, "release")

    def join(number: str) -> None:
        state = body.state(number)
        never = body.swap(state, f"i32 {_POSTED}", f"i32 {_IDLE}", "acq_rel acquire")

        def is_running() -> str:
            now = body.get(state, 0, "i32", "seq_cst")
            return body.op(f"icmp eq i32 {now}, {_RUNNING}")

        def doze() -> tuple[()]:
            body.line(f"store i32 1, ptr {slept}")
            body.wait(state, _RUNNING)
            return ()

        with body.when(body.op(f"xor i1 {never}, true"), "running"):
            spin = body.larger(body.get("%block", SPIN, order="monotonic"), "32")
            now = body.watch(state, _RUNNING, spin)
            with body.when(body.op(f"icmp eq i32 {now}, {_RUNNING}"), "sleep"):
                body.put("i32 1", "%block", _CALLER_SLEEPS, "seq_cst")
                body.repeat("doze", is_running, doze)
                body.put("i32 0", "%block", _CALLER_SLEEPS, "seq_cst")

    with body.when(body.op(f"icmp sgt i64 {count}, 0"), "some"):
        asked = body.smaller("%threads", count)
        participants = body.smaller(asked, body.get("%block", TEAM))
        turns = body.get("%block", _ALONE, order="monotonic")

        def together() -> None:
            body.choose(body.op(f"icmp sgt i64 {turns}, 0"), alone_again, claim)

        body.choose(body.op(f"icmp slt i64 {participants}, 2"), alone, together)
    body.end("parallel_for")


def _launches(module: Module) -> None:
    body = _Writer(module, "i64 @launches(ptr %block, ptr %table, ptr %registers, i64 %threads)")
    patches, kernels = body.word(0, base="%table"), body.word(1, base="%table")
    first = body.at("%table", 16)

    def patch(number: str) -> None:
        at = body.op(f"getelementptr [3 x i64], ptr {first}, i64 {number}")
        target, register, offset = (
            body.word(0, "ptr", at),
            body.word(1, base=at),
            body.word(2, base=at),
        )
        start = body.word(register, base="%registers")
        body.line(f"store i64 {body.op(f'add i64 {start}, {offset}')}, ptr {target}")

    def kernel(number: str, flags: str) -> tuple[str, str]:
        at = body.op(f"getelementptr [5 x i64], ptr {begin}, i64 {number}")
        function, argument = body.word(0, "ptr", at), body.word(1, "ptr", at)
        chunk, last, shared = [body.word(k, base=at) for k in (2, 3, 4)]
        arguments = f"ptr {argument}, i64 {chunk}, i64 {last}"
        together = f"@parallel_for(ptr %block, ptr {function}, {arguments}, i64 %threads)"
        body.choose(
            body.op(f"icmp ne i64 {shared}, 0"),
            lambda: body.line(f"call void {together}"),
            lambda: body.line(f"call void {function}({arguments})"),
        )
        raised = body.op(f"or i64 {flags}, {body.word(0, base=argument)}")
        return body.op(f"add i64 {number}, 1"), raised

    body.loop("patch", "0", patches, patch)
    begin = body.op(f"getelementptr [3 x i64], ptr {first}, i64 {patches}")
    (flags,) = body.advance("kernel", "0", kernels, kernel, ("i64", "0"))
    body.end("launches", f"i64 {flags}")


def _retire(module: Module) -> None:
    """Send the workers home, unless a loop is running; a caller that still knows this block finds it busy."""
    body = _Writer(module, "i32 @retire(ptr %block)")
    free = body.swap("%block", "i32 0", "i32 1", "acquire monotonic")

    def send(number: str) -> None:
        state = body.state(number)
        body.put(f"i32 {_STOP}", state, 0, "seq_cst")
        body.wake(state)

    with body.when(free, "retire"):
        body.loop("send", "1", body.get("%block", TEAM), send)
    body.end("retire", f"i32 {body.op(f'zext i1 {free} to i32')}")
