"""Bulk orders: a manifest is a table of orders, checked row by row and placed row by row through `orders.services.place`."""
