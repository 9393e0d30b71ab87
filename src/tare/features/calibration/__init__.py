"""Calibrations: how the speed of a machine follows the CPU time that it is given.

A calibration is concluded from an experiment like any other: trials in windows of time at several
quotas (:mod:`tare.experiment.sweep.analysis`), a model of the line
(:mod:`tare.statistics.scaling`),
what happened to the machine meanwhile (:mod:`tare.experiment.sweep.causes`). Two of them give a
mapping (:mod:`tare.features.calibration.mapping`).
"""
