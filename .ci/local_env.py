"""Print the environment variables of a stack's functions as exports of a shell.

usage: local_env.py STACK FUNCTION...
"""

import shlex
import sys

import boto3

stack, functions = sys.argv[1], sys.argv[2:]
client, variables = boto3.client("lambda"), {}
for function in functions:
    found = client.get_function_configuration(FunctionName=f"{stack}-{function}")
    variables |= found.get("Environment", {}).get("Variables", {})
for name, value in sorted(variables.items()):
    if value:
        print(f"export {name}={shlex.quote(value)}")
