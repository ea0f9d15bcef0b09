"""What the state of a query means, and whether a changed script may go on with it."""
