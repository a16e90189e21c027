UPDATE token_wallets
SET balance=(token_wallets.balance - ?)
WHERE token_wallets.tenant_id = ?
AND token_wallets.user_id = ?
AND token_wallets.balance >= ?
RETURNING id
