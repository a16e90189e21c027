SELECT ? AS one, ? || CAST(? AS TEXT) AS anon_1
