"""Which cluster an application is led to: codes and rules, what wins and why, and what a change moves.  No I/O."""
