"""What every toolbox holds."""
