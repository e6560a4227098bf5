-- Leasing work and ending it. Only the oldest work of a patient can be leased, so a patient is formed in order.

-- name: next_work
-- mark: across patients
-- The oldest work that nobody holds.
select w.patient, w.sequence, w.ingestion, w.attempts from work w
where w.lease_until <= :now
and not exists (select 1 from work e where e.patient = w.patient and e.sequence < w.sequence)
order by w.queued_at, w.patient, w.sequence
limit 1;

-- name: next_work_of
-- mark: one patient
-- The oldest work of one patient, if nobody holds it.
select w.patient, w.sequence, w.ingestion, w.attempts from work w
where w.patient = :patient and w.lease_until <= :now
and not exists (select 1 from work e where e.patient = :patient and e.sequence < w.sequence)
order by w.sequence
limit 1;

-- name: lease_work
-- mark: one patient
-- Lease it.
update work set worker = :worker, lease_until = :lease_until, attempts = :attempts
where patient = :patient and sequence = :sequence;

-- name: lock_work
-- mark: one patient
-- Who holds this work now?
select worker, attempts from work where patient = :patient and sequence = :sequence;

-- name: release_work
-- mark: one patient
-- Give it back for another attempt.
update work set worker = '', lease_until = '' where patient = :patient and sequence = :sequence;

-- name: drop_work
-- mark: one patient
-- It is done, or set aside.
delete from work where patient = :patient and sequence = :sequence;

-- name: start_receipt
-- mark: one patient
-- Forming has begun; the first beginning stands.
update receipts set status = :status, started_at = coalesce(started_at, :now) where patient = :patient and id = :id;

-- name: end_receipt
-- mark: one patient
-- Forming has ended, or waits for another attempt (then completed_at is null).
update receipts set status = :status, completed_at = :completed_at, failure_code = :failure_code, failure = :failure
where patient = :patient and id = :id;

-- name: amend_receipt
-- mark: one patient
-- What forming adds to a receipt.
update receipts set body = :body where patient = :patient and id = :id;

-- name: insert_memory
-- mark: one patient
-- One memory.
insert into memories (patient, id, message, kind, received_at, body)
values (:patient, :id, :message, :kind, :received_at, :body)
on conflict (patient, id) do nothing;

-- name: put_projection
-- mark: one patient
-- The formed graph, in place of the last one.
insert into projections (patient, formed_at, body) values (:patient, :now, :body)
on conflict (patient) do update set formed_at = excluded.formed_at, body = excluded.body;

-- name: count_work
-- mark: across patients
-- How many submissions wait.
select count(*) from work;

-- name: count_work_of
-- mark: one patient
-- How many submissions of one patient wait.
select count(*) from work where patient = :patient;
