"""Cards that are not there: device files that are mapped as a card's are, gateware behind them."""
