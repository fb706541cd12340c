"""How alike are the spaces in which language models represent text?"""
