"""Case file: what people write and lay beside an order: comments, attached files, and drafts of orders that are not placed yet."""
