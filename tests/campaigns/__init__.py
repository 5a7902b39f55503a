"""Programs that search for errors for hours; pytest does not collect them."""
