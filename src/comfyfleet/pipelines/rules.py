"""The settings of runs, as values."""

from dataclasses import dataclass, field

from comfyfleet.jobs.model import JobRules
from comfyfleet.pipelines.model import RUN_JOBS_PER_TENANT_MAX


@dataclass(frozen=True, slots=True)
class RunRules:
    """How many jobs a tenant's runs may have under way together; and the rules of any job."""

    jobs_per_tenant_max: int = RUN_JOBS_PER_TENANT_MAX
    jobs: JobRules = field(default_factory=JobRules)
