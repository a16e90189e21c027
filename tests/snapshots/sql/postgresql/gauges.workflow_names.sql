SELECT workflows.id, workflows.slug
FROM workflows
