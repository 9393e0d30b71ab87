"""An emulating agent that builds nothing: it says what its first argument has it say."""

from __future__ import annotations

import json
import sys
import time
from typing import Any


def _say(**told: Any) -> None:
    print(json.dumps(told), flush=True)


def _states(number: int | None, shapes: dict[int, dict[str, Any]]) -> None:
    hosts = [
        {
            "host": host,
            "tokens_bits": shape.get("tokens_bits"),
            "rate_bps": shape.get("high_bps"),
            "sent_bytes": 1000 * host,
            "dropped_packets": 0,
            "waiting_bytes": 0,
            "times_dry": 0,
            "dry_ns": 0,
            "first_dry_ns": None,
        }
        for host, shape in sorted(shapes.items())
    ]
    _say(record="host_states", id=number, at_ns=time.monotonic_ns(), hosts=hosts)


def _build(order: dict[str, Any]) -> list[dict[str, Any]]:
    if order["job"] == "take_interface":
        return [{"host": 1, "namespace": None, "address": None, "interface": order["interface"]}]
    return [
        {
            "host": host,
            "namespace": f"/run/netns/{order['name']}-{host}",
            "address": f"{order['subnet']}.{host}",
            "interface": "eth0",
        }
        for host in range(1, order["hosts"] + 1)
    ]


def main(how: str) -> None:
    if how == "dies":
        sys.exit("no kernel here")
    shapes: dict[int, dict[str, Any]] = {}
    for line in sys.stdin:
        order = json.loads(line)
        number = order["id"]
        match order["job"]:
            case "build_network" | "take_interface" if how == "refuses":
                _say(record="network_refused", id=number, message="no rights", hint="sudo true")
            case "build_network" | "take_interface":
                built = _build(order)
                shapes = {host["host"]: {} for host in built}
                _say(record="network_built", id=number, hosts=built)
            case "shape_hosts":
                if how == "dies later":
                    sys.exit("killed by a test")
                shapes |= {host["host"]: host["shape"] for host in order["hosts"]}
                _say(record="network_shaped", id=number)
                if how == "fails later":
                    _say(record="network_fault", message="eth0 is gone")
            case "look_at_hosts":
                if how == "garbage":
                    print("no record", flush=True)
                _states(number, shapes)
            case "log_hosts":
                if order["every_ns"] is not None:
                    for _ in range(3):
                        _states(None, shapes)
                _say(record="network_shaped", id=number)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
