"""Orders four to ten, measured against ends of motions that are known to twenty digits.

python -m tests.verification.high_order.ends      computes those ends: tests/data/motions.json
"""
