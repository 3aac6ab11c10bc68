"""Put on PYTHONPATH by the browser test: the server and every kernel write down whom they look up or connect to.

One line for each event: the event and the host. Written with `os.write`, so that a line is whole whichever process writes it.
"""

import os
import sys

_witness = os.open(os.environ["LAB_WITNESS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def _hear(event, args):
    if event == "socket.getaddrinfo" or event == "socket.gethostbyname":
        host = args[0]
    elif event == "socket.connect" and isinstance(args[1], tuple):  # a path is a socket of this machine
        host = args[1][0]
    else:
        return
    host = host.decode() if isinstance(host, bytes) else host
    os.write(_witness, f"{event} {host}\n".encode())


os.write(_witness, b"witness here\n")
sys.addaudithook(_hear)
