SELECT workflows.id, workflows.slug, workflows.expected_s
FROM workflows
