"""The exchange form, JSON Lines: importing, exporting, and what was set aside."""

from doxa.adapters.exchange.exporting import Exported, export_events, exported
from doxa.adapters.exchange.importing import ImportReport, import_events
from doxa.adapters.exchange.kept_out import KeptOut
from doxa.adapters.exchange.set_aside import SetAside, set_aside

__all__ = [
    "Exported",
    "ImportReport",
    "KeptOut",
    "SetAside",
    "export_events",
    "exported",
    "import_events",
    "set_aside",
]
