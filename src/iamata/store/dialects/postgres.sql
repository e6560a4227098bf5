-- Statements that PostgreSQL needs in other words: row locks, where SQLite has one writer.

-- name: lock_patient
-- mark: one patient
-- Read the counters and keep every other writer of this patient out until the transaction ends.
select version, sequence, key_check from patients where patient = :patient for update;

-- name: next_work
-- mark: across patients
-- The oldest work that nobody holds; what another worker is looking at is skipped.
select w.patient, w.sequence, w.ingestion, w.attempts from work w
where w.lease_until <= :now
and not exists (select 1 from work e where e.patient = w.patient and e.sequence < w.sequence)
order by w.queued_at, w.patient, w.sequence
limit 1
for update of w skip locked;

-- name: next_work_of
-- mark: one patient
-- The oldest work of one patient, if nobody holds it or looks at it.
select w.patient, w.sequence, w.ingestion, w.attempts from work w
where w.patient = :patient and w.lease_until <= :now
and not exists (select 1 from work e where e.patient = :patient and e.sequence < w.sequence)
order by w.sequence
limit 1
for update of w skip locked;

-- name: lock_work
-- mark: one patient
-- Who holds this work now?
select worker, attempts from work where patient = :patient and sequence = :sequence for update;
