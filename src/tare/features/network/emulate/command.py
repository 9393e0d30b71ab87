"""``tare net emulate``: a network that is shaped as asked, and a command in it."""

from __future__ import annotations

from tare.cli import console, delivery
from tare.cli.call import Call
from tare.features.network.emulate.options import EmulateOptions
from tare.options.command import command


@command(EmulateOptions)
def emulate(given: EmulateOptions, call: Call) -> int:
    """Run a command in an emulated network.

    SPEC: none · rate 200Mbit · bucket high=2Gbit low=200Mbit budget=10Gbit [refill=…]
    [initial=…] · bucket:c5.xlarge budget=100Gbit · distribution 10%=200Mbit 90%=900Mbit
    every=5s [seed=1] · distribution:google · replay:FOLDER|FILE.csv|FILE.json; each [queue=1MB].
    Without refill=, tokens refill at the low rate.

    In the command, {host2} is the address of host 2, {hosts} all, {host} its own, {host_file} a
    file of them, and `{enter} HOST COMMAND` runs a command there, as ssh would; also in TARE_HOSTS
    and so on. Exit code: that of the command, whose output goes to stderr with --json -.

        tare net emulate bucket:c5.xlarge --serve 'iperf3 -s' -- iperf3 -c {host2}
    """
    from tare.cli.command_line import typed
    from tare.features.network.emulate import checked, report
    from tare.features.network.emulate.session import conduct
    from tare.platforms.users import calling_user

    console.check_writable(given.json, given.log)
    with typed():
        found = checked.asked(given)
    user = None if given.as_root else calling_user()
    answers = given.json == "-"
    conducted = conduct(found, check=given.check, log=given.log, user=user, answers=answers)
    made = report.make(conducted.emulation, conducted.moments, conducted.code)
    # Standard output is the command's.
    return delivery.deliver(made, {"json": given.json}, to=console.err)
