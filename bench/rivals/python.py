"""Python's subprocess. The same measures and the same line of JSON as every rival's (docs/performance.md).

    python.py MEASURE key=value ...
"""
import gc
import json
import os
import resource
import selectors
import subprocess
import sys
import time

PARAMETERS = dict(word.split('=', 1) for word in sys.argv[2:])
NULL, PIPE = subprocess.DEVNULL, subprocess.PIPE


def number(name, otherwise=0):
    return int(PARAMETERS.get(name, otherwise))


def microseconds():
    return time.perf_counter_ns() / 1e3


def cpu_microseconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return (used.ru_utime + used.ru_stime) * 1e6


def quantile(values, share):
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def begin(args, pipes):
    stream = PIPE if pipes else NULL
    return subprocess.Popen(args, stdin=NULL, stdout=stream, stderr=stream, env={})


def end(child, pipes):
    if pipes:
        child.communicate()
    else:
        child.wait()


def start():
    args, pipes, count = [PARAMETERS['program']], number('pipes'), number('count', 100)
    walls, blocks, cpu = [], [], 0
    for i in range(-number('warmUps', 30), count):
        if i == 0:
            cpu = cpu_microseconds()
        at = microseconds()
        child = begin(args, pipes)
        started = microseconds()
        end(child, pipes)
        if i >= 0:
            walls.append(microseconds() - at)
            blocks.append(started - at)
    return {
        'wallUs': quantile(walls, 0.5),
        'wallP99Us': quantile(walls, 0.99),
        'blockedUs': quantile(blocks, 0.5),
        'cpuUs': (cpu_microseconds() - cpu) / count,
    }


class Gate:
    def __init__(self):
        self.gate = os.open(PARAMETERS['gate'], os.O_RDWR)
        self.ready = os.open(PARAMETERS['ready'], os.O_RDWR)

    def hold(self, count, pipes):
        args = [PARAMETERS['target'], 'hold', PARAMETERS['gate'], PARAMETERS['ready']]
        children = [begin(args, pipes) for _ in range(count)]
        there = 0
        while there < count:
            there += len(os.read(self.ready, count - there))
        return children


def resident_kib():
    gc.collect()
    with open('/proc/self/smaps_rollup') as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith('Rss:'))


def descriptors():
    return len(os.listdir('/proc/self/fd'))


def burst():
    pipes, count = number('pipes'), number('count', 1000)
    gate = Gate()
    memory, fds, cpu = resident_kib(), descriptors(), cpu_microseconds()
    children = gate.hold(count, pipes)
    facts = {
        'startCpuMs': (cpu_microseconds() - cpu) / 1e3,
        'residentKiB': (resident_kib() - memory) / count,
        'descriptors': (descriptors() - fds) / count,
    }
    at, cpu = microseconds(), cpu_microseconds()
    os.close(gate.gate)
    for child in children:
        end(child, 0)
    return {**facts, 'wallMs': (microseconds() - at) / 1e3, 'cpuMs': (cpu_microseconds() - cpu) / 1e3}


def drain():
    size, count = number('bytes'), number('children', 1)
    args = [PARAMETERS['target'], 'write', str(size), PARAMETERS.get('block', '65536')]
    args += [f"cpu={PARAMETERS['childCpu']}"] if 'childCpu' in PARAMETERS else []
    at, cpu, total, left = microseconds(), cpu_microseconds(), 0, count
    buffer, readable = bytearray(65536), selectors.DefaultSelector()
    children = [subprocess.Popen(args, stdin=NULL, stdout=PIPE, stderr=NULL, bufsize=0, env={}) for _ in range(count)]
    for child in children:
        readable.register(child.stdout, selectors.EVENT_READ)
    while left:
        for key, _ in readable.select():
            got = key.fileobj.readinto(buffer)
            total += got
            if got == 0:
                readable.unregister(key.fileobj)
                left -= 1
    for child in children:
        child.wait()
    took = microseconds() - at
    assert total == size * count, 'bytes are missing'
    return {'gbPerSecond': total / took / 1e3, 'cpuPerGb': (cpu_microseconds() - cpu) / 1e6 / (total / 1e9)}


def exchange():
    size, count = number('bytes', 64), number('count', 1000)
    (child_in, host_out), (host_in, child_out) = os.pipe(), os.pipe()
    # The numbers stay what they are here: moving them to 3 and 4 takes a preexec_fn, which turns vfork off.
    args = [PARAMETERS['target'], 'echo', str(child_in), str(child_out), str(size)]
    args += [f"cpu={PARAMETERS['childCpu']}"] if 'childCpu' in PARAMETERS else []
    child = subprocess.Popen(args, stdin=NULL, pass_fds=(child_in, child_out), env={})
    os.close(child_in)
    os.close(child_out)
    message, walls, cpu = b'a' * size, [], 0
    for i in range(-(count // 5), count):
        if i == 0:
            cpu = cpu_microseconds()
        at, sent, got = microseconds(), 0, 0
        while sent < size:
            sent += os.write(host_out, message[sent:])
        while got < size:
            got += len(os.read(host_in, size - got))
        if i >= 0:
            walls.append(microseconds() - at)
    cpu_us = (cpu_microseconds() - cpu) / count
    os.close(host_out)
    child.wait()
    return {'wallUs': quantile(walls, 0.5), 'wallP99Us': quantile(walls, 0.99), 'cpuUs': cpu_us}


_, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
memory = [b'\1' * (1 << 28) for _ in range(number('memoryGiB') * 4)]
opened = [os.open('/dev/null', os.O_RDONLY) for _ in range(number('descriptors'))]
measures = {'start': start, 'burst': burst, 'drain': drain, 'exchange': exchange}
print(json.dumps(measures[sys.argv[1]]()))
