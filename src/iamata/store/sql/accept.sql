-- Making a submission durable. What is there already stays as it is: `do nothing`, and the count of rows tells.

-- name: statement_ids
-- mark: one patient
-- Which statements are held.
select distinct id from statements where patient = :patient;

-- name: passage_ids
-- mark: one patient
-- Which passages are held.
select distinct id from passages where patient = :patient;

-- name: received
-- mark: one patient
-- When a document was first received; no row if it is not held.
select received_at from documents where patient = :patient and id = :id;

-- name: last_seen
-- mark: one patient
-- When the items of a document were last received; no row if it brought none.
select received_at from sightings where patient = :patient and document = :document order by received_at desc limit 1;

-- name: insert_source
-- mark: one patient
-- A source and its kind.
insert into sources (patient, id, body) values (:patient, :id, :body) on conflict (patient, id) do nothing;

-- name: insert_document
-- mark: one patient
-- Bytes as received.
insert into documents (patient, id, sequence, received_at, head, body)
values (:patient, :id, :sequence, :received_at, :head, :body)
on conflict (patient, id) do nothing;

-- name: insert_statement
-- mark: one patient
-- One statement.
insert into statements (patient, id, rereading, sequence, kind, reader, body)
values (:patient, :id, :rereading, :sequence, :kind, :reader, :body)
on conflict (patient, id, rereading) do nothing;

-- name: insert_passage
-- mark: one patient
-- One passage.
insert into passages (patient, id, rereading, sequence, reader, body)
values (:patient, :id, :rereading, :sequence, :reader, :body)
on conflict (patient, id, rereading) do nothing;

-- name: insert_sighting
-- mark: one patient
-- One sighting; the first time of receipt stands.
insert into sightings (patient, id, rereading, sequence, item, document, received_at, body)
values (:patient, :id, :rereading, :sequence, :item, :document, :received_at, :body)
on conflict (patient, id) do nothing;

-- name: insert_rereading
-- mark: one patient
-- The documents that were read otherwise than before.
insert into rereadings (patient, number, at, body) values (:patient, :number, :now, :body);

-- name: insert_relearning
-- mark: one patient
-- The memories that are found no more.
insert into relearnings (patient, number, at, body) values (:patient, :number, :now, :body);

-- name: insert_relearned_memory
-- mark: one patient
-- One memory as it was learned again.
insert into relearned_memories (patient, id, relearning, message, kind, received_at, body)
values (:patient, :id, :relearning, :message, :kind, :received_at, :body);

-- name: insert_session
-- mark: one patient
-- Open a session.
insert into sessions (patient, id, created_at) values (:patient, :id, :now) on conflict (patient, id) do nothing;

-- name: message_ids
-- mark: one patient
-- The turns of one session, in order.
select id from messages where patient = :patient and session = :session order by position;

-- name: insert_message
-- mark: one patient
-- One turn.
insert into messages (patient, id, session, position, sequence, received_at, body)
values (:patient, :id, :session, :position, :sequence, :received_at, :body);

-- name: insert_receipt
-- mark: one patient
-- The receipt of one submission.
insert into receipts (patient, id, sequence, status, received_at, started_at, completed_at, failure_code, failure, body)
values (:patient, :id, :sequence, :status, :received_at, :started_at, :completed_at, '', null, :body);

-- name: insert_work
-- mark: one patient
-- Queue the forming of one submission.
insert into work (patient, sequence, ingestion, queued_at, worker, lease_until, attempts)
values (:patient, :sequence, :ingestion, :now, '', '', 0);

-- name: insert_retraction
-- mark: one patient
-- Take a source out from here back.
insert into retractions (patient, id, at, body) values (:patient, :id, :now, :body)
on conflict (patient, id) do nothing;

-- name: insert_model_answer
-- mark: one patient
-- Keep what a language model answered; the first answer to a question stands.
insert into model_answers (patient, id, received_at, body) values (:patient, :id, :received_at, :body)
on conflict (patient, id) do nothing;

-- name: insert_ruling
-- mark: one patient
-- Append what a person decided.
insert into rulings (patient, id, body) values (:patient, :id, :body)
on conflict (patient, id) do nothing;
