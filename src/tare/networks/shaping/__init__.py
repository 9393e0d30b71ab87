"""How a network is shaped, as values: rates, specifications, presets, traces of bandwidth.

Nothing here touches a network. :mod:`tare.networks` has the effects.
"""
