"""The parts that a page is made of: words, pictures, charts, heat maps and the code that runs in the browser."""
