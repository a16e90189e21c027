UPDATE token_wallets
SET balance=(token_wallets.balance + ?)
WHERE token_wallets.tenant_id = ?
AND token_wallets.id = ?
AND token_wallets.balance >= -?
AND token_wallets.balance <= ? - ?
RETURNING balance
