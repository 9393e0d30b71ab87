"""tare from Python: `tare.run`, `tare.compare` and `tare.audit`, and their results.

They do what the commands of the same names do, print nothing, and leave the process as it was:
its signal handlers, environment, standard input and warnings.
"""

from tare.library.calls import audit as audit
from tare.library.calls import compare as compare
from tare.library.calls import run as run
