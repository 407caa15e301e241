"""Delete the bucket policy of a stack on an emulator, which has no TLS. The policy rejects requests without TLS.

usage: allow_without_tls.py STACK ENDPOINT
"""

import sys

import boto3

stack, endpoint = sys.argv[1:]
if not endpoint.startswith("http://127.0.0.1:"):
    sys.exit(f"{endpoint} is not an emulator on this machine")
resources = boto3.resource("cloudformation", endpoint_url=endpoint)
bucket = resources.StackResource(stack, "ValuesBucket").physical_resource_id
boto3.client("s3", endpoint_url=endpoint).delete_bucket_policy(Bucket=bucket)
