SELECT ? AS anon_1
