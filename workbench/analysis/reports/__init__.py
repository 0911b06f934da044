"""Reports on card transactions, applications, contracts and points: `wb.history(source)` has a method for each."""
