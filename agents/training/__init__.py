"""What `train.py` runs."""
