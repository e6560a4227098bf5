-- Moving a patient: every row in pages by its key, and rows as they were put into an empty patient.

-- name: move_out_sources
-- mark: one patient
-- A page of the sources and their kinds.
select id, body from sources where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_sources
-- mark: one patient
-- One of the sources and their kinds, as it was elsewhere.
insert into sources (patient, id, body) values (:patient, :id, :body);

-- name: move_out_documents
-- mark: one patient
-- A page of the documents, without their bytes.
select id, sequence, received_at, head from documents
where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_out_rereadings
-- mark: one patient
-- A page of the times that documents were read again.
select number, at, body from rereadings
where patient = :patient and number > :after_number order by number limit :limit;

-- name: move_in_rereadings
-- mark: one patient
-- One of the times that documents were read again, as it was elsewhere.
insert into rereadings (patient, number, at, body) values (:patient, :number, :at, :body);

-- name: move_out_statements
-- mark: one patient
-- A page of the statements, of every rereading.
select id, rereading, sequence, kind, reader, body from statements
where patient = :patient and (id, rereading) > (:after_id, :after_rereading) order by id, rereading limit :limit;

-- name: move_in_statements
-- mark: one patient
-- One of the statements, of every rereading, as it was elsewhere.
insert into statements (patient, id, rereading, sequence, kind, reader, body)
values (:patient, :id, :rereading, :sequence, :kind, :reader, :body);

-- name: move_out_passages
-- mark: one patient
-- A page of the passages, of every rereading.
select id, rereading, sequence, reader, body from passages
where patient = :patient and (id, rereading) > (:after_id, :after_rereading) order by id, rereading limit :limit;

-- name: move_in_passages
-- mark: one patient
-- One of the passages, of every rereading, as it was elsewhere.
insert into passages (patient, id, rereading, sequence, reader, body)
values (:patient, :id, :rereading, :sequence, :reader, :body);

-- name: move_out_sightings
-- mark: one patient
-- A page of the sightings.
select id, rereading, sequence, item, document, received_at, body from sightings
where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_sightings
-- mark: one patient
-- One of the sightings, as it was elsewhere.
insert into sightings (patient, id, rereading, sequence, item, document, received_at, body)
values (:patient, :id, :rereading, :sequence, :item, :document, :received_at, :body);

-- name: move_out_sessions
-- mark: one patient
-- A page of the sessions.
select id, created_at from sessions where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_sessions
-- mark: one patient
-- One of the sessions, as it was elsewhere.
insert into sessions (patient, id, created_at) values (:patient, :id, :created_at);

-- name: move_out_messages
-- mark: one patient
-- A page of the turns.
select id, session, position, sequence, received_at, body from messages
where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_messages
-- mark: one patient
-- One of the turns, as it was elsewhere.
insert into messages (patient, id, session, position, sequence, received_at, body)
values (:patient, :id, :session, :position, :sequence, :received_at, :body);

-- name: move_out_memories
-- mark: one patient
-- A page of the memories.
select id, message, kind, received_at, body from memories
where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_memories
-- mark: one patient
-- One of the memories, as it was elsewhere.
insert into memories (patient, id, message, kind, received_at, body)
values (:patient, :id, :message, :kind, :received_at, :body);

-- name: move_out_tool_calls
-- mark: one patient
-- A page of the tool calls.
select id, session, position, follows, received_at, body from tool_calls
where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_tool_calls
-- mark: one patient
-- One of the tool calls, as it was elsewhere.
insert into tool_calls (patient, id, session, position, follows, received_at, body)
values (:patient, :id, :session, :position, :follows, :received_at, :body);

-- name: move_out_shown_words
-- mark: one patient
-- A page of the marks of words that were put into contexts.
select mark from shown_words where patient = :patient and mark > :after_mark order by mark limit :limit;

-- name: move_in_shown_words
-- mark: one patient
-- One of the marks of words that were put into contexts, as it was elsewhere.
insert into shown_words (patient, mark) values (:patient, :mark);

-- name: move_out_rulings
-- mark: one patient
-- A page of the rulings.
select id, body from rulings where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_rulings
-- mark: one patient
-- One of the rulings, as it was elsewhere.
insert into rulings (patient, id, body) values (:patient, :id, :body);

-- name: move_out_relearnings
-- mark: one patient
-- A page of the times that talk was learned again.
select number, at, body from relearnings where patient = :patient and number > :after_number
order by number limit :limit;

-- name: move_in_relearnings
-- mark: one patient
-- One time that talk was learned again, as it was elsewhere.
insert into relearnings (patient, number, at, body) values (:patient, :number, :at, :body);

-- name: move_out_relearned_memories
-- mark: one patient
-- A page of what was learned again.
select id, relearning, message, kind, received_at, body from relearned_memories
where patient = :patient and (id > :after_id or (id = :after_id and relearning > :after_relearning))
order by id, relearning limit :limit;

-- name: move_in_relearned_memories
-- mark: one patient
-- One memory that was learned again, as it was elsewhere.
insert into relearned_memories (patient, id, relearning, message, kind, received_at, body)
values (:patient, :id, :relearning, :message, :kind, :received_at, :body);

-- name: move_out_holds
-- mark: one patient
-- A page of the legal holds.
select id, lifts, at, body from holds where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_holds
-- mark: one patient
-- One of the legal holds, as it was elsewhere.
insert into holds (patient, id, lifts, at, body) values (:patient, :id, :lifts, :at, :body);

-- name: move_out_retractions
-- mark: one patient
-- A page of the retractions.
select id, at, body from retractions where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_retractions
-- mark: one patient
-- One of the retractions, as it was elsewhere.
insert into retractions (patient, id, at, body) values (:patient, :id, :at, :body);

-- name: move_out_model_answers
-- mark: one patient
-- A page of the answers of language models.
select id, received_at, body from model_answers where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_model_answers
-- mark: one patient
-- One of the answers of language models, as it was elsewhere.
insert into model_answers (patient, id, received_at, body) values (:patient, :id, :received_at, :body);

-- name: move_out_receipts
-- mark: one patient
-- A page of the receipts.
select id, sequence, status, received_at, started_at, completed_at, failure_code, failure, body from receipts
where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_receipts
-- mark: one patient
-- One of the receipts, as it was elsewhere.
insert into receipts (patient, id, sequence, status, received_at, started_at, completed_at, failure_code, failure, body)
values (:patient, :id, :sequence, :status, :received_at, :started_at, :completed_at, :failure_code, :failure, :body);

-- name: move_out_contexts
-- mark: one patient
-- A page of the contexts that were given out.
select id, created_at, body from contexts where patient = :patient and id > :after_id order by id limit :limit;

-- name: move_in_contexts
-- mark: one patient
-- One of the contexts that were given out, as it was elsewhere.
insert into contexts (patient, id, created_at, body) values (:patient, :id, :created_at, :body);

-- name: move_in_patient
-- mark: one patient
-- A patient with the counters that it had elsewhere; nothing happens if there is one.
insert into patients (patient, created_at, updated_at, version, sequence, key_check)
values (:patient, :created_at, :updated_at, :version, :sequence, :key_check)
on conflict (patient) do nothing;

-- name: counters
-- mark: one patient
-- The counters of a patient, beside its row.
select sequence from patients where patient = :patient;

-- name: tombstone
-- mark: across patients
-- Was somebody erased under this mark?
select 1 from tombstones where mark = :mark;

-- name: move_out_inferences
-- mark: one patient
-- A page of what agents inferred, every version.
select id, version, recorded_at, body from inferences
where patient = :patient and (id, version) > (:after_id, :after_version) order by id, version limit :limit;

-- name: move_in_inferences
-- mark: one patient
-- One version of what agents inferred, as it was elsewhere.
insert into inferences (patient, id, version, recorded_at, body) values (:patient, :id, :version, :recorded_at, :body);

-- name: move_out_learned_from
-- mark: one patient
-- A page of the entries that were learned from what was done for the patient.
select scope, subject, entry from learned_from
where patient = :patient and (scope, subject, entry) > (:after_scope, :after_subject, :after_entry)
order by scope, subject, entry limit :limit;

-- name: move_in_learned_from
-- mark: one patient
-- One of the entries that were learned from what was done for the patient; nothing happens if that is known.
insert into learned_from (patient, scope, subject, entry) values (:patient, :scope, :subject, :entry)
on conflict (patient, scope, subject, entry) do nothing;

-- name: subject_head
-- mark: across patients
-- The counters of an organization, operator or agent.
select created_at, updated_at, version from subjects where scope = :scope and subject = :subject;

-- name: move_in_subject
-- mark: across patients
-- A subject with the counters that it had elsewhere; nothing happens if there is one.
insert into subjects (scope, subject, created_at, updated_at, version, key_check)
values (:scope, :subject, :created_at, :updated_at, :version, :key_check)
on conflict (scope, subject) do nothing;

-- name: move_out_entry_versions
-- mark: across patients
-- A page of the entries of one subject, every version.
select id, version, kind, recorded_at, body from entry_versions
where scope = :scope and subject = :subject and (id, version) > (:after_id, :after_version)
order by id, version limit :limit;

-- name: move_in_entry_versions
-- mark: across patients
-- One version of an entry, as it was elsewhere; nothing happens if it is here.
insert into entry_versions (scope, subject, id, version, kind, recorded_at, body)
values (:scope, :subject, :id, :version, :kind, :recorded_at, :body)
on conflict (scope, subject, id, version) do nothing;

-- name: move_out_entry_documents
-- mark: across patients
-- A page of the files that entries came from, without their bytes.
select id, about from entry_documents
where scope = :scope and subject = :subject and id > :after_id order by id limit :limit;

-- name: move_out_entry_refusals
-- mark: across patients
-- A page of what people refused to have learned, and took back.
select entry, number, refused, body from entry_refusals
where scope = :scope and subject = :subject and (entry, number) > (:after_entry, :after_number)
order by entry, number limit :limit;

-- name: move_in_entry_refusals
-- mark: across patients
-- One word on what was learned, as it was elsewhere; nothing happens if it is here.
insert into entry_refusals (scope, subject, entry, number, refused, body)
values (:scope, :subject, :entry, :number, :refused, :body)
on conflict (scope, subject, entry, number) do nothing;
