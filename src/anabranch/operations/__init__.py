"""What people ask for, carried out: links made, shown, changed and deleted, and jobs launched."""
