"""Filters that round for display; the stored value stays as it is."""

from django import template

from reports import wording

register = template.Library()
register.filter("signed", wording.signed)
register.filter("grouped", wording.grouped)
register.filter("allele", wording.allele)
register.filter("code_words", wording.words)
register.filter("code_short", wording.short)
