SELECT found.tenant_id, found.id, found.balance, found.sum_of_transactions, count(*) OVER () AS total
FROM (SELECT token_wallets.tenant_id AS tenant_id, token_wallets.id AS id, token_wallets.balance AS balance, CAST(coalesce(sum(token_transactions.amount), ?) AS BIGINT) AS sum_of_transactions
FROM token_wallets
LEFT OUTER
JOIN token_transactions ON token_transactions.tenant_id = token_wallets.tenant_id
AND token_transactions.wallet_id = token_wallets.id GROUP BY token_wallets.tenant_id, token_wallets.id, token_wallets.balance HAVING token_wallets.balance != coalesce(sum(token_transactions.amount), ?)) AS found
LIMIT ? OFFSET ?
