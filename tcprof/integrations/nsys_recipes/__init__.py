"""Recipes of ``nsys recipe``, which finds them in the folder that ``NSYS_RECIPE_PATH`` names."""
