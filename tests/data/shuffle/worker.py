"""A worker of a small distributed job: it computes, then fetches a part from every other worker.

Workers are on hosts 2 and above of a network. One of them has all others work when a line of JSON
asks it to, and answers with a table of their tasks.
"""

import json
import socket
import threading
import time
import zlib

PORT, ROUNDS = 9000, 2
HEAD = "host,start_ns,duration_ns,stage,task,read_bytes,written_bytes,wait_ns,error"


def answer(peer):
    with peer:
        asked = json.loads(peer.makefile().readline())
        if asked["do"] == "send":
            peer.sendall(bytes(asked["bytes"]))
        elif asked["do"] == "work":
            peer.sendall(json.dumps(work(asked)).encode())
        else:
            peer.sendall(run(asked).encode())


def ask(host, what):
    peer = socket.create_connection((host, PORT))
    peer.sendall(json.dumps(what).encode() + b"\n")
    return peer


def work(task):
    start, waited, read = time.monotonic_ns(), 0, 0
    for _ in range(task["blocks"]):
        zlib.compress(bytes(range(256)) * 4000)
    for peer in [ask(host, {"do": "send", "bytes": size}) for host, size in task["from"].items()]:
        with peer:
            got = 1
            while got:
                before = time.monotonic_ns()
                got = len(peer.recv(1 << 18))
                waited += time.monotonic_ns() - before
                read += got
    return {"start": start, "duration": time.monotonic_ns() - start, "read": read, "wait": waited}


def run(job):
    rows = []

    def have(host, stage, blocks, parts):
        with ask(host, {"do": "work", "blocks": blocks, "from": parts}) as peer:
            done = json.loads(peer.makefile().read())
        rows.append(
            (
                host,
                done["start"],
                done["duration"],
                stage,
                f"{stage} on {host}",
                done["read"],
                0,
                done["wait"],
                "",
            )
        )

    hosts = job["hosts"].split(",")[1:]
    for number in range(ROUNDS):
        for stage, fetches in ((f"map {number}", False), (f"reduce {number}", True)):
            some = []
            for at, host in enumerate(hosts, 2):
                parts = {
                    other: job["bytes"] * (10 if sender == job["sends"] else 1)
                    for sender, other in enumerate(hosts, 2)
                    if fetches and other != host
                }
                blocks = 1 if fetches else 60 if at == job["computes"] else 10
                some.append(threading.Thread(target=have, args=(host, stage, blocks, parts)))
            for one in some:
                one.start()
            for one in some:
                one.join()
    return "".join(",".join(map(str, row)) + "\n" for row in [(HEAD,), *rows])


server = socket.create_server(("", PORT))
while True:
    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
