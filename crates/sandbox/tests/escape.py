"""A strategy that tries to get out. Prints one line for every attempt: its name, and what came of it."""

import ctypes, mmap, os, resource, socket, subprocess, sys, threading

secret, state, tcp, inherited, parent = sys.argv[1:6]
libc = ctypes.CDLL(None, use_errno=True)


def call(number, *arguments):
    if libc.syscall(number, *arguments) == -1:
        raise OSError(ctypes.get_errno(), "refused")


def connect(family, kind, address):
    with socket.socket(family, kind) as out:
        out.connect(address)
        out.send(b"x")


def fork():
    if os.fork() == 0:
        os._exit(0)


def raise_limit():
    limit = resource.RLIM_INFINITY
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def write(path):
    with open(path, "w") as out:
        out.write("x")


ATTEMPTS = {
    "read the key": lambda: open(secret).read(),
    "read the key by another name": lambda: open("/proc/self/root" + secret).read(),
    "change the mode of the key": lambda: os.chmod(secret, 0o777),
    "remove the key": lambda: os.remove(secret),
    "list the state folder": lambda: os.listdir(state),
    "open the store": lambda: open(state + "/cambist.db", "r+b").read(),
    "truncate the store": lambda: os.truncate(state + "/cambist.db", 0),
    "connect to the control socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, state + "/socket"),
    "connect over TCP": lambda: connect(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", int(tcp))),
    "send over UDP": lambda: connect(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", int(tcp))),
    "make a ring": lambda: call(425, 1, 0),
    "read what was left open": lambda: os.read(int(inherited), 1),
    "read the environment of the daemon": lambda: open(f"/proc/{parent}/environ").read(),
    "read the memory of the daemon": lambda: open(f"/proc/{parent}/mem", "rb").read(1),
    "trace the daemon": lambda: libc.ptrace(16, int(parent), 0, 0) == 0 or call(-1),
    "kill the daemon": lambda: os.kill(int(parent), 0),
    "limit the daemon": lambda: resource.prlimit(int(parent), resource.RLIMIT_NOFILE, (9, 9)),
    "fork": fork,
    "run a program": lambda: subprocess.run(["/bin/true"], check=True),
    "allocate": lambda: bytearray(1 << 30),
    "allocate shared memory": lambda: mmap.mmap(-1, 1 << 30),
    "allocate a file in memory": lambda: os.memfd_create("x"),
    "raise the limit on memory": raise_limit,
    "write a file": lambda: write("/tmp/cambist-escaped"),
    "write beside the key": lambda: write(os.path.dirname(secret) + "/escaped"),
    "write shared memory": lambda: write("/dev/shm/cambist-escaped"),
    "read users": lambda: open("/etc/passwd").read(),
    "unshare": lambda: call(272, 0x10000000),
}

# What a strategy needs all the same.
threading.Thread(target=lambda: None).start()
os.urandom(8)

for name, attempt in ATTEMPTS.items():
    try:
        attempt()
        print(f"{name}: done")
    except (OSError, MemoryError, ValueError) as error:
        print(f"{name}: refused ({type(error).__name__})")
