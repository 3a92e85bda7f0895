"""What narwhal-tune is made of; each file begins with what it is for."""
