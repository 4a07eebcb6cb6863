"""Notices: what people and other systems are told, in the page, by e-mail or by webhook, after the commit of what they are told."""
