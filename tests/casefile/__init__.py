"""What is written and laid beside an order, drafts of orders, and who looked."""
