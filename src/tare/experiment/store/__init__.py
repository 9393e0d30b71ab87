"""The store: an experiment's journal as tables, for analysis and export.

``store.duckdb`` is derived: it is made anew whenever the journal has grown, beside the old one,
and takes its place when it is whole. A report can therefore be made while an experiment runs,
and readers do not hinder each other.
"""

from tare.experiment.store.build import origins, save_findings
from tare.experiment.store.export import FORMATS, export, format_of, write
from tare.experiment.store.load import load

__all__ = ["FORMATS", "export", "format_of", "load", "origins", "save_findings", "write"]
