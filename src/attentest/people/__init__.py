"""Asking people: are the heaviest words relevant to the model's prediction? (T17, Vashishth et al. 2019 §4.4)"""
