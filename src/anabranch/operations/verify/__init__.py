"""Comparisons: started, shown, stopped, resumed."""
