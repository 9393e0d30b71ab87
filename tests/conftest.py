"""No test asserts how long anything takes, generated examples included."""

from hypothesis import HealthCheck, settings

settings.register_profile("tare", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tare")
