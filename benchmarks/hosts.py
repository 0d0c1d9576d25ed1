"""A cluster of hosts without a common folder: TLS, arrays by way of S3, the same bytes as in one process.

    python benchmarks/hosts.py [--entities 30000] [--kill]        (as root, on Linux)

Each host is a network namespace of its own, with an address of its own and a folder of temporary files that no other
sees: *head* has the scheduler, the calling process and an S3 server (moto), *one* and *two* have a worker each. Keys
are made by openssl for the time of the run. Needs iproute2 and openssl, and in the environment dualmatch's extra [dask]
with s3fs and moto[server]. With --kill, a worker is killed in the middle; its nanny starts it again.

Prints whether links, relations and the companion file are the same, and what went over the network to each worker.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

HEAD, WORKERS = "10.77.0.1", {"one": "10.77.0.11", "two": "10.77.0.12"}
S3, SCHEDULER = f"http://{HEAD}:5000", f"tls://{HEAD}:8786"
FILES = ("links.tsv", "relations.tsv", "links.tsv.why.npz")
PREFIX = "dualmatch-"  # of namespaces


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--entities", type=int, default=30_000)
    parser.add_argument("--kill", action="store_true", help="kill a worker in the middle")
    asked = parser.parse_args()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(dir="/var/tmp")))
        make_keys(folder)
        world = folder / "world"
        simulate = ["simulate", "-o", str(world), "--preset", "scale", "--entities", str(asked.entities)]
        subprocess.run(dualmatch(*simulate), check=True, stdout=subprocess.DEVNULL)
        stack.enter_context(network())
        for number, (host, command) in enumerate(servers()):
            stack.enter_context(running(host, command, folder))
            if number == 0:
                wait_for_s3()
        found = {}
        for name, options in {
            "one process": [],
            "two hosts": ["--engine", "dask", "--scheduler", SCHEDULER, "--exchange", "s3://dualmatch/tmp"],
        }.items():
            before, start = received(), time.perf_counter()
            align(world, folder / name, options, folder, kill=asked.kill and bool(options))
            found[name] = {file: (folder / name / file).read_bytes() for file in FILES}
            traffic = ", ".join(f"{host} {(received()[host] - before[host]) / 1e6:.0f} MB" for host in WORKERS)
            print(f"{name:12} {time.perf_counter() - start:7.1f} s  received: {traffic}", flush=True)
    one, other = found.values()
    different = [file for file in FILES if one[file] != other[file]]
    n_rows = one[FILES[0]].count(b"\n") - 1
    print(f"{n_rows:,} source entities; files that differ: {', '.join(different) or 'none'}")
    sys.exit(bool(different))


def make_keys(folder: Path) -> None:
    """A certificate authority, and one key that all members of the cluster have."""

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], check=True, cwd=folder, capture_output=True)

    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=ca", "-keyout", "ca.key")
    openssl("req", "-x509", "-key", "ca.key", "-days", "1", "-subj", "/CN=ca", "-out", "ca.pem")
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=member", "-keyout", "me.key", "-out", "me.csr")
    given = ("-in", "me.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "1", "-out", "me.pem")
    openssl("x509", "-req", *given)


def environment(folder: Path) -> dict[str, str]:
    """What every process of the cluster is told."""
    tls = "DASK_DISTRIBUTED__COMM__TLS__"
    of_role = {"CERT": folder / "me.pem", "KEY": folder / "me.key"}
    keys = {
        f"{tls}{role}__{kind}": str(file)
        for role in ("CLIENT", "SCHEDULER", "WORKER")
        for kind, file in of_role.items()
    }
    others = {
        "DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "true",
        f"{tls}CA_FILE": str(folder / "ca.pem"),
        "AWS_ENDPOINT_URL": S3,
        "AWS_ACCESS_KEY_ID": "nobody",
        "AWS_SECRET_ACCESS_KEY": "nothing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "TMPDIR": "/tmp",
    }
    return os.environ | keys | others


@contextmanager
def network() -> Iterator[None]:
    """The hosts, joined by a bridge in the head."""
    hosts = ["head", *WORKERS]
    try:
        for host in hosts:
            run("ip", "netns", "add", PREFIX + host)
            inside(host, "ip", "link", "set", "lo", "up")
        inside("head", "ip", "link", "add", "bridge", "type", "bridge")
        inside("head", "ip", "address", "add", f"{HEAD}/24", "dev", "bridge")
        inside("head", "ip", "link", "set", "bridge", "up")
        for host, address in WORKERS.items():
            peer = ("peer", "name", "wire", "netns", PREFIX + host)
            inside("head", "ip", "link", "add", f"to-{host}", "type", "veth", *peer)
            inside("head", "ip", "link", "set", f"to-{host}", "master", "bridge", "up")
            inside(host, "ip", "address", "add", f"{address}/24", "dev", "wire")
            inside(host, "ip", "link", "set", "wire", "up")
        yield
    finally:
        for host in hosts:
            subprocess.run(["ip", "netns", "del", PREFIX + host], check=False, capture_output=True)


def servers() -> Iterator[tuple[str, list[str]]]:
    """What runs on each host, before anything is aligned: the S3 server first."""
    dask = [sys.executable, "-m", "dask"]
    yield "head", [sys.executable, "-m", "moto.server", "-H", HEAD, "-p", "5000"]
    yield "head", [*dask, "scheduler", "--protocol", "tls", "--host", HEAD, "--port", "8786", "--no-dashboard"]
    for host, address in WORKERS.items():
        options = ["--host", address, "--nthreads", "1", "--memory-limit", "0", "--no-dashboard"]
        yield host, [*dask, "worker", SCHEDULER, *options]


def wait_for_s3() -> None:
    """Wait for the S3 server, and make its bucket."""
    make = f"import urllib.request as r; r.urlopen(r.Request('{S3}/dualmatch', method='PUT'), timeout=5)"
    asked = entered("head", [sys.executable, "-c", make])
    for _ in range(120):
        if subprocess.run(asked, check=False, capture_output=True).returncode == 0:
            return
        time.sleep(1)
    sys.exit("the S3 server does not answer")


def align(world: Path, place: Path, options: list[str], folder: Path, kill: bool) -> None:
    place.mkdir()
    files = ["-o", str(place / FILES[0]), "--relations", str(place / FILES[1])]
    command = entered("head", dualmatch("align", str(world), *files, *options, "-q"))
    aligning = subprocess.Popen(command, env=environment(folder))
    if kill:
        time.sleep(20)
        if aligning.poll() is not None:
            sys.exit("the run ended before a worker was killed; give more entities")
        os.kill(worker_of("one"), signal.SIGKILL)
        print("killed the worker of host one")
    if aligning.wait():
        sys.exit(f"{place.name}: exit code {aligning.returncode}")


def worker_of(host: str) -> int:
    """The process that computes, which its nanny has started."""
    for number in run("ip", "netns", "pids", PREFIX + host).split():
        if b"spawn_main" in Path(f"/proc/{number}/cmdline").read_bytes():
            return int(number)
    sys.exit(f"host {host} has no worker")


def dualmatch(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "dualmatch", *arguments]


def entered(host: str, command: list[str]) -> list[str]:
    """A command on a host, which has temporary files of its own."""
    own_files = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs own /tmp && exec "$@"', "sh"]
    return ["ip", "netns", "exec", PREFIX + host, *own_files, *command]


@contextmanager
def running(host: str, command: list[str], folder: Path) -> Iterator[None]:
    with (folder / "servers.log").open("ab") as log:
        process = subprocess.Popen(
            entered(host, command), env=environment(folder), stdout=log, stderr=log, start_new_session=True
        )
        try:
            yield
        finally:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)


def received() -> dict[str, int]:
    """Bytes that have come over the network to each worker's host."""
    return {host: int(inside("head", "cat", f"/sys/class/net/to-{host}/statistics/tx_bytes")) for host in WORKERS}


def inside(host: str, *command: str) -> str:
    return run("ip", "netns", "exec", PREFIX + host, *command)


def run(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    main()
