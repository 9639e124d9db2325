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
    execute so many pause instructions;
``launches(block, table, registers, threads)``
    run several kernels, one after the other; returns the flags of all of them.

The ``table`` begins with the number of patches and the number of kernels. A patch has three words: where to
write an address, the register that the address is relative to, and the offset in bytes. A kernel has five: function,
argument, the first chunk, the one after the last, and whether threads share it. The first word of an argument holds the flags that the kernel raised.
"""

from __future__ import annotations

FUTEX = {"x86_64": 202, "aarch64": 98}
"""The number of the system call on the machines that can do this."""

MOST_PARTICIPANTS = 1024
LINE = 128
"""Bytes per participant: two cache lines, one for its segment and one for its state."""

HEADER = 256
"""Bytes before the first participant."""

TEAM = 16
"""Where the number of participants stands (i64)."""

SPIN = 8
"""Where the number of pauses stands that a worker makes before it sleeps (i64)."""

BITE = 3
"""A bite is what is left of a segment, shifted by so much: the last ones are small, so all end together."""

_PAUSE = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
}
_DECLARE_PAUSE = {
    "x86_64": "declare void @llvm.x86.sse2.pause()",
    "aarch64": "declare void @llvm.aarch64.hint(i32)",
}

# The block that all threads share, at byte offsets:
#     0 busy (i32)         4 the caller sleeps (i32)    8 pauses before a worker sleeps (i64)
#    16 participants (i64): how many there are
#    24 loops that the caller does alone (i64)   32 how many those were the last time (i64)
#   128 function (ptr)  136 argument (ptr)  144 participants of this job (i64)
#   256 + 128*p: next (i64), end (i64); + 64: state (i32), + 68: asleep (i32)
_IR = r"""
declare i64 @syscall(i64, ...)
@DECLARE_PAUSE@

define void @pauses(i64 %number) {
entry:
  br label %loop
loop:
  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]
  @PAUSE@
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %number
  br i1 %more, label %loop, label %done
done:
  ret void
}

define internal ptr @line(ptr %block, i64 %p) alwaysinline {
  %offset = mul i64 %p, @LINE@
  %offset1 = add i64 %offset, @HEADER@
  %at = getelementptr i8, ptr %block, i64 %offset1
  ret ptr %at
}

define internal ptr @state(ptr %block, i64 %p) alwaysinline {
  %line = call ptr @line(ptr %block, i64 %p)
  %at = getelementptr i8, ptr %line, i64 64
  ret ptr %at
}

declare i32 @clock_gettime(i32, ptr)

define internal i64 @nanoseconds() {
entry:
  %time = alloca [2 x i64]
  %r = call i32 @clock_gettime(i32 1, ptr %time)
  %seconds = load i64, ptr %time
  %rest.at = getelementptr i64, ptr %time, i64 1
  %rest = load i64, ptr %rest.at
  %whole = mul i64 %seconds, 1000000000
  %sum = add i64 %whole, %rest
  ret i64 %sum
}

define internal void @wake_if_asleep(ptr %state) {
entry:
  %asleep.at = getelementptr i8, ptr %state, i64 4
  %asleep = load atomic i32, ptr %asleep.at seq_cst, align 4
  %is = icmp ne i32 %asleep, 0
  br i1 %is, label %wake, label %done
wake:
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %state, i32 129, i32 1)
  br label %done
done:
  ret void
}

; Participant p wakes 2p+1 and 2p+2: a large team is awake after a logarithmic number of calls.
define internal void @wake_children(ptr %block, i64 %p, i64 %participants) {
entry:
  %twice = shl i64 %p, 1
  br label %child
child:
  %n = phi i64 [ 1, %entry ], [ %n1, %next ]
  %c = add i64 %twice, %n
  %exists = icmp ult i64 %c, %participants
  br i1 %exists, label %wake, label %done
wake:
  %state = call ptr @state(ptr %block, i64 %c)
  %now = load atomic i32, ptr %state seq_cst, align 4
  %posted = icmp eq i32 %now, 1
  br i1 %posted, label %call, label %next
call:
  call void @wake_if_asleep(ptr %state)
  br label %next
next:
  %n1 = add i64 %n, 1
  %more = icmp ule i64 %n1, 2
  br i1 %more, label %child, label %done
done:
  ret void
}

; Bite at the own segment, then at those of the others, until nothing is left anywhere.
define internal void @work(ptr %block, i64 %me) {
entry:
  %function.at = getelementptr i8, ptr %block, i64 128
  %argument.at = getelementptr i8, ptr %block, i64 136
  %participants.at = getelementptr i8, ptr %block, i64 144
  %function = load ptr, ptr %function.at
  %argument = load ptr, ptr %argument.at
  %participants = load i64, ptr %participants.at
  br label %segment
segment:
  %k = phi i64 [ 0, %entry ], [ %k1, %exhausted ]
  %turn = add i64 %me, %k
  %over = icmp uge i64 %turn, %participants
  %wrapped = sub i64 %turn, %participants
  %p = select i1 %over, i64 %wrapped, i64 %turn
  %next.at = call ptr @line(ptr %block, i64 %p)
  %end.at = getelementptr i8, ptr %next.at, i64 8
  %end = load i64, ptr %end.at
  br label %look
look:
  %low = load atomic i64, ptr %next.at monotonic, align 8
  %left = sub i64 %end, %low
  %some = icmp sgt i64 %left, 0
  br i1 %some, label %take, label %exhausted
take:
  %part = lshr i64 %left, @BITE@
  %bite = call i64 @llvm.smax.i64(i64 %part, i64 1)
  %high = add i64 %low, %bite
  %pair = cmpxchg ptr %next.at, i64 %low, i64 %high monotonic monotonic
  %mine = extractvalue { i64, i1 } %pair, 1
  br i1 %mine, label %run, label %look
run:
  call void %function(ptr %argument, i64 %low, i64 %high)
  br label %look
exhausted:
  %k1 = add i64 %k, 1
  %more = icmp ult i64 %k1, %participants
  br i1 %more, label %segment, label %done
done:
  ret void
}

define void @worker(ptr %block, i64 %me) {
entry:
  %state = call ptr @state(ptr %block, i64 %me)
  %asleep.at = getelementptr i8, ptr %state, i64 4
  %caller.at = getelementptr i8, ptr %block, i64 4
  %spin.at = getelementptr i8, ptr %block, i64 8
  %participants.at = getelementptr i8, ptr %block, i64 144
  br label %idle
idle:
  %spin = load atomic i64, ptr %spin.at monotonic, align 8
  br label %watch
watch:
  %k = phi i64 [ 0, %idle ], [ %k1, %again ]
  %now = load atomic i32, ptr %state acquire, align 4
  switch i32 %now, label %nothing [ i32 1, label %take
                                    i32 3, label %stop ]
nothing:
  %tired = icmp uge i64 %k, %spin
  br i1 %tired, label %sleep, label %again
again:
  @PAUSE@
  %k1 = add i64 %k, 1
  br label %watch
sleep:
  store atomic i32 1, ptr %asleep.at seq_cst, align 4
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %state, i32 128, i32 0, ptr null, ptr null, i32 0)
  store atomic i32 0, ptr %asleep.at seq_cst, align 4
  br label %idle
take:
  %pair = cmpxchg ptr %state, i32 1, i32 2 acq_rel acquire
  %mine = extractvalue { i32, i1 } %pair, 1
  br i1 %mine, label %run, label %idle
run:
  %participants = load i64, ptr %participants.at
  call void @wake_children(ptr %block, i64 %me, i64 %participants)
  call void @work(ptr %block, i64 %me)
  store atomic i32 0, ptr %state seq_cst, align 4
  %caller = load atomic i32, ptr %caller.at seq_cst, align 4
  %waits = icmp ne i32 %caller, 0
  br i1 %waits, label %tell, label %idle
tell:
  %r1 = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %state, i32 129, i32 2147483647)
  br label %idle
stop:
  ret void
}

; A worker that loses its core in the middle of a piece keeps the caller waiting. Where the caller has waited for longer than it would
; have taken for the rest, it does the next loops alone: 16 of them, and twice as many each time that happens again.
define void @parallel_for(ptr %block, ptr %function, ptr %argument, i64 %first, i64 %last.chunk, i64 %threads) {
entry:
  %slept = alloca i32
  %count = sub i64 %last.chunk, %first
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %size, label %return
size:
  %team.at = getelementptr i8, ptr %block, i64 16
  %team = load i64, ptr %team.at
  %p0 = call i64 @llvm.smin.i64(i64 %threads, i64 %count)
  %participants = call i64 @llvm.smin.i64(i64 %p0, i64 %team)
  %alone = icmp slt i64 %participants, 2
  br i1 %alone, label %inline, label %try
try:
  %alone.at = getelementptr i8, ptr %block, i64 24
  %turns = load atomic i64, ptr %alone.at monotonic, align 8
  %better = icmp sgt i64 %turns, 0
  br i1 %better, label %count.down, label %claim
count.down:
  %turns1 = sub i64 %turns, 1
  store atomic i64 %turns1, ptr %alone.at monotonic, align 8
  br label %inline
claim:
  %pair = cmpxchg ptr %block, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %share, label %inline
inline:
  call void %function(ptr %argument, i64 %first, i64 %last.chunk)
  br label %return
share:
  %function.at = getelementptr i8, ptr %block, i64 128
  %argument.at = getelementptr i8, ptr %block, i64 136
  %participants.at = getelementptr i8, ptr %block, i64 144
  store ptr %function, ptr %function.at
  store ptr %argument, ptr %argument.at
  store i64 %participants, ptr %participants.at
  %quotient = udiv i64 %count, %participants
  %remainder = urem i64 %count, %participants
  br label %cut
cut:
  %c = phi i64 [ 0, %share ], [ %c1, %cut ]
  %low = phi i64 [ %first, %share ], [ %high, %cut ]
  %extra = icmp ult i64 %c, %remainder
  %one = zext i1 %extra to i64
  %length = add i64 %quotient, %one
  %high = add i64 %low, %length
  %next.at = call ptr @line(ptr %block, i64 %c)
  %end.at = getelementptr i8, ptr %next.at, i64 8
  store atomic i64 %low, ptr %next.at monotonic, align 8
  store i64 %high, ptr %end.at
  %c1 = add i64 %c, 1
  %cut.more = icmp ult i64 %c1, %participants
  br i1 %cut.more, label %cut, label %post
post:
  %w = phi i64 [ 1, %cut ], [ %w1, %post ]
  %w.state = call ptr @state(ptr %block, i64 %w)
  store atomic i32 1, ptr %w.state seq_cst, align 4
  %w1 = add i64 %w, 1
  %post.more = icmp ult i64 %w1, %participants
  br i1 %post.more, label %post, label %begin
begin:
  store i32 0, ptr %slept
  %began = call i64 @nanoseconds()
  call void @wake_children(ptr %block, i64 0, i64 %participants)
  call void @work(ptr %block, i64 0)
  %ended = call i64 @nanoseconds()
  br label %join
join:
  %j = phi i64 [ 1, %begin ], [ %j1, %joined ]
  %j.state = call ptr @state(ptr %block, i64 %j)
  %retract = cmpxchg ptr %j.state, i32 1, i32 0 acq_rel acquire
  %never = extractvalue { i32, i1 } %retract, 1
  br i1 %never, label %joined, label %running
running:
  %spin.at = getelementptr i8, ptr %block, i64 8
  %spin0 = load atomic i64, ptr %spin.at monotonic, align 8
  %spin = call i64 @llvm.smax.i64(i64 %spin0, i64 32)
  br label %watch
watch:
  %k = phi i64 [ 0, %running ], [ %k1, %again ]
  %now = load atomic i32, ptr %j.state acquire, align 4
  %finished = icmp ne i32 %now, 2
  br i1 %finished, label %joined, label %not.yet
not.yet:
  %tired = icmp uge i64 %k, %spin
  br i1 %tired, label %sleep, label %again
again:
  @PAUSE@
  %k1 = add i64 %k, 1
  br label %watch
sleep:
  %caller.at = getelementptr i8, ptr %block, i64 4
  store atomic i32 1, ptr %caller.at seq_cst, align 4
  br label %doze
doze:
  %now1 = load atomic i32, ptr %j.state seq_cst, align 4
  %still = icmp eq i32 %now1, 2
  br i1 %still, label %wait, label %awake
wait:
  store i32 1, ptr %slept
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %j.state, i32 128, i32 2, ptr null, ptr null, i32 0)
  br label %doze
awake:
  store atomic i32 0, ptr %caller.at seq_cst, align 4
  br label %joined
joined:
  %j1 = add i64 %j, 1
  %join.more = icmp ult i64 %j1, %participants
  br i1 %join.more, label %join, label %finish
finish:
  %last.at = getelementptr i8, ptr %block, i64 32
  %last = load i64, ptr %last.at
  %long = load i32, ptr %slept
  %is.long = icmp ne i32 %long, 0
  br i1 %is.long, label %judge, label %well
judge:
  %now2 = call i64 @nanoseconds()
  %own = sub i64 %ended, %began
  %twice = shl i64 %own, 1
  %waited = sub i64 %now2, %ended
  %late = icmp sgt i64 %waited, %twice
  br i1 %late, label %step.back, label %release
step.back:
  %more = shl i64 %last, 1
  %least = call i64 @llvm.smax.i64(i64 %more, i64 16)
  %most = call i64 @llvm.smin.i64(i64 %least, i64 1024)
  store i64 %most, ptr %last.at
  store atomic i64 %most, ptr %alone.at monotonic, align 8
  br label %release
well:
  %known = icmp ne i64 %last, 0
  br i1 %known, label %forget, label %release
forget:
  %fewer = lshr i64 %last, 1
  store i64 %fewer, ptr %last.at
  br label %release
release:
  store atomic i32 0, ptr %block release, align 4
  br label %return
return:
  ret void
}

define i64 @launches(ptr %block, ptr %table, ptr %registers, i64 %threads) {
entry:
  %patches = load i64, ptr %table
  %kernels.at = getelementptr i8, ptr %table, i64 8
  %kernels = load i64, ptr %kernels.at
  %first = getelementptr i8, ptr %table, i64 16
  %some = icmp ne i64 %patches, 0
  br i1 %some, label %patch, label %begin
patch:
  %p = phi i64 [ 0, %entry ], [ %p1, %patch ]
  %p.at = phi ptr [ %first, %entry ], [ %p.next, %patch ]
  %target = load ptr, ptr %p.at
  %register.at = getelementptr i8, ptr %p.at, i64 8
  %register = load i64, ptr %register.at
  %offset.at = getelementptr i8, ptr %p.at, i64 16
  %offset = load i64, ptr %offset.at
  %start.at = getelementptr i64, ptr %registers, i64 %register
  %start = load i64, ptr %start.at
  %address = add i64 %start, %offset
  store i64 %address, ptr %target
  %p.next = getelementptr i8, ptr %p.at, i64 24
  %p1 = add i64 %p, 1
  %p.more = icmp ult i64 %p1, %patches
  br i1 %p.more, label %patch, label %begin
begin:
  %begin.at = phi ptr [ %first, %entry ], [ %p.next, %patch ]
  br label %kernel
kernel:
  %k = phi i64 [ 0, %begin ], [ %k1, %next ]
  %k.at = phi ptr [ %begin.at, %begin ], [ %k.next, %next ]
  %flags = phi i64 [ 0, %begin ], [ %flags1, %next ]
  %function = load ptr, ptr %k.at
  %argument.at = getelementptr i8, ptr %k.at, i64 8
  %argument = load ptr, ptr %argument.at
  %chunk.at = getelementptr i8, ptr %k.at, i64 16
  %chunk = load i64, ptr %chunk.at
  %last.at = getelementptr i8, ptr %k.at, i64 24
  %last = load i64, ptr %last.at
  %shared.at = getelementptr i8, ptr %k.at, i64 32
  %shared = load i64, ptr %shared.at
  %is.shared = icmp ne i64 %shared, 0
  br i1 %is.shared, label %together, label %alone
together:
  call void @parallel_for(ptr %block, ptr %function, ptr %argument, i64 %chunk, i64 %last, i64 %threads)
  br label %next
alone:
  call void %function(ptr %argument, i64 %chunk, i64 %last)
  br label %next
next:
  %raised = load i64, ptr %argument
  %flags1 = or i64 %flags, %raised
  %k.next = getelementptr i8, ptr %k.at, i64 40
  %k1 = add i64 %k, 1
  %k.more = icmp ult i64 %k1, %kernels
  br i1 %k.more, label %kernel, label %done
done:
  ret i64 %flags1
}

; Send the workers home, unless a loop is running; whoever still knows this block finds it busy.
define i32 @retire(ptr %block) {
entry:
  %pair = cmpxchg ptr %block, i32 0, i32 1 acquire monotonic
  %free = extractvalue { i32, i1 } %pair, 1
  br i1 %free, label %begin, label %refuse
refuse:
  ret i32 0
begin:
  %team.at = getelementptr i8, ptr %block, i64 16
  %team = load i64, ptr %team.at
  br label %test
test:
  %w = phi i64 [ 1, %begin ], [ %w1, %send ]
  %more = icmp ult i64 %w, %team
  br i1 %more, label %send, label %done
send:
  %state = call ptr @state(ptr %block, i64 %w)
  store atomic i32 3, ptr %state seq_cst, align 4
  %r = call i64 (i64, ...) @syscall(i64 @FUTEX@, ptr %state, i32 129, i32 1)
  %w1 = add i64 %w, 1
  br label %test
done:
  ret i32 1
}

declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
"""


def source(machine: str) -> str:
    """The LLVM text of the loops for ``machine``, ``'x86_64'`` or ``'aarch64'``."""
    text = _IR.replace("@DECLARE_PAUSE@", _DECLARE_PAUSE[machine])
    text = text.replace("@PAUSE@", _PAUSE[machine])
    numbers = {"FUTEX": FUTEX[machine], "LINE": LINE, "HEADER": HEADER, "BITE": BITE}
    for name, number in numbers.items():
        text = text.replace(f"@{name}@", str(number))
    return text
