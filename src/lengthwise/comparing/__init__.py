"""Every remedy on every task at every length, under the same rules."""
