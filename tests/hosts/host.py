"""What runs inside a host: its first process, which starts what it is asked to, and the launcher's agent that asks it.

    host.py serve NAME ADDRESS SOCKET HOSTS    the first process of new namespaces (see ``network``)
    host.py reach [-x] HOST words...           run a command on another host, as ssh would
    host.py console SOCKET words...            ... from outside of the network

The agent speaks over the network like any other program, so that it is lost with the cable. Standard library only.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import signal
import socket
import struct
import subprocess
import sys

PORT = 514
"""Where the first process of each host listens."""

MTU = 9000


def serve(name: str, address: str, path: str, hosts: str) -> None:
    """Become a host: its name, its cable, its shared memory, its table of hosts; then start what is asked for, to the end."""
    socket.sethostname(name)
    for command in (["--bind", hosts, "/etc/hosts"], ["-t", "tmpfs", "tmpfs", "/dev/shm"]):
        subprocess.run(["mount", *command], check=True)
    control = socket.socket(fileno=0)
    socket.send_fds(control, [b"."], [cable(address)])
    listeners = [socket.create_server((address, PORT)), socket.socket(socket.AF_UNIX)]
    listeners[1].bind(path)
    listeners[1].listen()
    control.sendall(b".")
    while True:
        ready, _, _ = select.select([control, *listeners], [], [], 0.2)
        if control in ready:
            return  # who has made this host has ended
        for listener in ready:
            connection, _ = listener.accept()
            if os.fork() == 0:
                run(connection)
            connection.close()
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            pass


def cable(address: str) -> int:
    """Bring up the network of this host; the other end of its cable, from which its frames can be read."""
    wire = os.open("/dev/net/tun", os.O_RDWR)
    frames, set_interface = 0x0002 | 0x1000, 0x400454CA
    fcntl.ioctl(wire, set_interface, struct.pack("16sH22x", b"eth0", frames))
    set_address, set_mask, set_mtu, set_flags, up = 0x8916, 0x891C, 0x8922, 0x8914, 0x41
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:

        def ask(request: int, device: bytes, value: bytes) -> None:
            fcntl.ioctl(any_socket, request, struct.pack("16s24s", device, value))

        for request, text in ((set_address, address), (set_mask, "255.255.255.0")):
            internet = struct.pack("HH4s", socket.AF_INET, 0, socket.inet_aton(text))
            ask(request, b"eth0", internet)
        ask(set_mtu, b"eth0", struct.pack("i", MTU))
        for device in (b"lo", b"eth0"):
            ask(set_flags, device, struct.pack("H", up))
    return wire


def run(connection: socket.socket) -> None:
    """In a child of the first process: become the command that a connection asks for, with it as all streams."""
    connection.setblocking(True)
    text = b""
    while text.count(b"\0") < 2 and (data := connection.recv(1 << 16)):
        text += data
    folder, command = text.split(b"\0")[:2]
    os.setsid()
    if connection.family == socket.AF_UNIX:
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
    for stream in range(3):
        os.dup2(connection.fileno(), stream)
    os.chdir(folder)
    os.execv("/bin/sh", ["sh", "-c", os.fsdecode(command)])


def talk(connection: socket.socket, command: str) -> None:
    """Have a command run, and pass on what it says."""
    connection.sendall(os.fsencode(f"{os.getcwd()}\0{command}\0"))
    while data := connection.recv(1 << 16):
        os.write(1, data)


def main() -> None:
    kind, *words = sys.argv[1:]
    if kind == "serve":
        serve(*words)
    elif kind == "reach":
        words = words[1:] if words[0] == "-x" else words
        talk(socket.create_connection((words[0], PORT)), " ".join(words[1:]))
    else:
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(words[0])
        talk(connection, " ".join(words[1:]))


if __name__ == "__main__":
    main()
