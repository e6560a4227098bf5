-- The audit log: appended in groups, read by page, verified chain by chain.

-- name: insert_audit
-- mark: across patients
-- One record of a chain.
insert into audit (writer, sequence, at, subject, body, hash) values (:writer, :sequence, :at, :subject, :body, :hash);

-- name: put_audit_head
-- mark: across patients
-- How long the chain is now.
insert into audit_heads (writer, sequence, hash) values (:writer, :sequence, :hash)
on conflict (writer) do update set sequence = excluded.sequence, hash = excluded.hash;

-- name: audit_page
-- mark: across patients
-- A page of all records, newest first.
select body from audit order by at desc, writer desc, sequence desc limit :limit offset :offset;

-- name: audit_page_of
-- mark: across patients
-- A page of one subject's records, newest first.
select body from audit where subject = :subject order by at desc, writer desc, sequence desc
limit :limit offset :offset;

-- name: audit_writers
-- mark: across patients
-- Every chain that has a record or a head.
select writer from audit union select writer from audit_heads order by writer;

-- name: audit_head
-- mark: across patients
-- The head of one chain.
select sequence, hash from audit_heads where writer = :writer;

-- name: audit_chain
-- mark: across patients
-- The records of one chain after a number, in order.
select sequence, at, subject, body, hash from audit where writer = :writer and sequence > :after
order by sequence limit :limit;

-- name: count_audit
-- mark: across patients
-- How many records there are.
select count(*) from audit;

-- name: count_audit_of
-- mark: across patients
-- How many records there are of one subject.
select count(*) from audit where subject = :subject;

-- name: audit_ends
-- mark: across patients
-- The head of every chain, with its first and its last record.
select h.writer, h.sequence, h.hash, a.sequence, a.body, a.hash from audit_heads h
left join audit a on a.writer = h.writer and (a.sequence = 1 or a.sequence = h.sequence)
order by h.writer, a.sequence;

-- name: audit_lengths
-- mark: across patients
-- The number of the last record of every chain.
select writer, max(sequence) from audit group by writer;

-- name: audit_hash
-- mark: across patients
-- The hash of one record.
select hash from audit where writer = :writer and sequence = :sequence;
