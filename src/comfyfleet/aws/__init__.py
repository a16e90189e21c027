"""Speaking to AWS: clients that are made once and bounded in time, and its errors in plain words.

boto3 is an extra and slow to load: it is imported when the first client is made. It is synchronous: callers run it in a
thread.
"""

from comfyfleet.aws.client import aws_client, call_aws, known_regions
from comfyfleet.aws.problems import AwsFault, AwsProblem
from comfyfleet.aws.region import REGION, require_region

__all__ = ["REGION", "AwsFault", "AwsProblem", "aws_client", "call_aws", "known_regions", "require_region"]
