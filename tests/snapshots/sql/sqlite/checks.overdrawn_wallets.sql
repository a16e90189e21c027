SELECT found.tenant_id, found.id, found.balance, count(*) OVER () AS total
FROM (SELECT token_wallets.tenant_id AS tenant_id, token_wallets.id AS id, token_wallets.balance AS balance
FROM token_wallets
WHERE token_wallets.balance < ?) AS found
LIMIT ? OFFSET ?
