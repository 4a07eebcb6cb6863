"""Filters and keys that records use and their header lacks: declared in the result, for BCF holds no others."""

from __future__ import annotations

from dataclasses import replace

from engine.command_line.survey import Used, Values
from engine.command_line.vcf import Header

_ABOUT = 'Description="not declared in the VCF that was scored"'


def declared(header: Header, used: Used) -> Header:
    """The header with a line for each. What an INFO key holds is told from all of its values; a FORMAT key holds text."""
    lines = [
        *(f"##FILTER=<ID={name},{_ABOUT}>" for name in used.filters),
        *(f"##INFO=<ID={key},Number={_number(values)},Type={values.kind},{_ABOUT}>" for key, values in used.info.items()),
        *(f"##FORMAT=<ID={key},Number=1,Type=String,{_ABOUT}>" for key in used.formats),
    ]
    return replace(header, meta=(*header.meta, *lines))


def _number(values: Values) -> str:
    if values.kind == "Flag":
        return "0"
    return "1" if values.single else "."
