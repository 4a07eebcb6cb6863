"""Free ports without a race: what is handed out stays held until its owner listens on it."""

import errno
import socket

from supervisor.errors import SetupError

LOCALHOST = "127.0.0.1"


class Reservation:
    """A port that nobody else is given; a server that sets SO_REUSEADDR (Postgres and Valkey do) may still listen on it."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.bind((LOCALHOST, 0))
        # after bind, so that the kernel found us a port which no other reservation holds
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.port: int = self._socket.getsockname()[1]

    def close(self) -> None:
        self._socket.close()


def listen_on_free_port(first: int, *, host: str = LOCALHOST, tries: int = 100) -> socket.socket:
    """A listening socket on `first` or the next free port after it. The web process inherits it, so no one can slip in between."""
    for port in range(first, min(first + tries, 65_536)):
        listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host, port))
            listener.listen(128)
        except OSError as problem:
            listener.close()
            if problem.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise SetupError(f"cannot listen on {host}:{port}: {problem.strerror}") from problem
            continue
        return listener
    raise SetupError(f"no free port on {host} from {first} to {first + tries - 1}")


def answers(port: int, *, host: str = LOCALHOST) -> bool:
    """Whether something accepts connections there."""
    try:
        with socket.create_connection((host, port), timeout=1):
            return True
    except OSError:
        return False
