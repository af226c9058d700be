"""Where the time went: classes, accounts, and copies beside the kernels."""
