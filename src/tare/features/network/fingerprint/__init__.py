"""What is to be published of a network, and checked before its results are compared.

CLOUDNET asks for it (F5.2): unpaced latency, base bandwidth, how latency changes under load, and
the parameters of a token bucket where there is one; and of its Figure 12, what the size of writes
does.
"""
