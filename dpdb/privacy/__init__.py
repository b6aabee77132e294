"""The mathematics: sensitivities, mechanisms, noise, composition."""
