# A function: it reads a step's input on standard input and prints a JSON object as its
# output. This one prints its input. Yours sends the token or the URL in the input to
# the service or the person that reports the outcome.
cat
