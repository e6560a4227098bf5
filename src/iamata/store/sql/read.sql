-- Reading one patient's graph. Rows come ordered by id, so that both databases give the same bytes.

-- name: sources
-- mark: one patient
-- Every source with each kind it was said to be.
select id, body from sources where patient = :patient order by id;

-- name: statements
-- mark: one patient
-- Every statement that came after a submission.
select id, rereading, body from statements where patient = :patient and sequence > :after order by id, rereading;

-- name: passages
-- mark: one patient
-- Every passage that came after a submission.
select id, rereading, body from passages where patient = :patient and sequence > :after order by id, rereading;

-- name: sightings
-- mark: one patient
-- Every sighting that came after a submission.
select id, rereading, item, document, received_at, body from sightings
where patient = :patient and sequence > :after order by id;

-- name: documents
-- mark: one patient
-- What every document is that came after a submission, without its bytes.
select id, head from documents where patient = :patient and sequence > :after order by id;

-- name: last_sighting
-- mark: one patient
-- Which submission brought the last sighting.
select coalesce(max(sequence), 0) from sightings where patient = :patient;

-- name: last_document
-- mark: one patient
-- Which submission brought the last document.
select coalesce(max(sequence), 0) from documents where patient = :patient;

-- name: document_body
-- mark: one patient
-- The bytes of one document.
select body from documents where patient = :patient and id = :id;

-- name: sessions
-- mark: one patient
-- Every session.
select id, created_at from sessions where patient = :patient order by id;

-- name: session
-- mark: one patient
-- One session.
select id, created_at from sessions where patient = :patient and id = :id;

-- name: messages
-- mark: one patient
-- Every message, in order within its session.
select id, session, body from messages where patient = :patient order by session, position;

-- name: session_messages
-- mark: one patient
-- The messages of one session, in order.
select id, session, body from messages where patient = :patient and session = :session order by position;

-- name: memories
-- mark: one patient
-- Every memory.
select id, body from memories where patient = :patient order by id;

-- name: relearnings
-- mark: one patient
-- Every time that talk was read again, in order.
select number, at, body from relearnings where patient = :patient order by number;

-- name: relearned_memories
-- mark: one patient
-- What was learned again.
select id, relearning, body from relearned_memories where patient = :patient order by relearning, id;

-- name: rulings
-- mark: one patient
-- What people decided.
select id, body from rulings where patient = :patient order by id;

-- name: rereadings
-- mark: one patient
-- Every time that documents were read again, in order.
select number, at, body from rereadings where patient = :patient order by number;

-- name: retractions
-- mark: one patient
-- Every retraction, the earliest first.
select id, at, body from retractions where patient = :patient order by at, id;

-- name: model_answers
-- mark: one patient
-- What language models answered.
select id, body from model_answers where patient = :patient order by id;

-- name: projection
-- mark: one patient
-- The last formed graph.
select body from projections where patient = :patient;

-- name: receipt
-- mark: one patient
-- One receipt.
select id, status, started_at, completed_at, failure_code, failure, body from receipts
where patient = :patient and id = :id;

-- name: receipts
-- mark: one patient
-- A page of receipts with one of five statuses, newest first.
select id, status, started_at, completed_at, failure_code, failure, body from receipts
where patient = :patient and status in (:s0, :s1, :s2, :s3, :s4)
order by sequence desc limit :limit offset :offset;

-- name: count_receipts
-- mark: one patient
-- How many receipts have one of five statuses.
select count(*) from receipts where patient = :patient and status in (:s0, :s1, :s2, :s3, :s4);

-- name: put_context
-- mark: one patient
-- Keep a context that was given out; the same id again takes its place.
insert into contexts (patient, id, created_at, body) values (:patient, :id, :now, :body)
on conflict (patient, id) do update set created_at = excluded.created_at, body = excluded.body;

-- name: context
-- mark: one patient
-- One context.
select body from contexts where patient = :patient and id = :id;

-- name: context_times
-- mark: one patient
-- When contexts were given out.
select id, created_at from contexts where patient = :patient order by id;
