-- Forgetting a part of a patient, legal holds, and the ledger of erasures.

-- name: forget_sightings
-- mark: one patient
-- What was seen in a document.
delete from sightings where patient = :patient and document = :id;

-- name: forget_statement
-- mark: one patient
-- A statement, as first read and as read again.
delete from statements where patient = :patient and id = :id;

-- name: forget_passage
-- mark: one patient
-- A passage, as first read and as read again.
delete from passages where patient = :patient and id = :id;

-- name: forget_document
-- mark: one patient
-- The bytes of a document.
delete from documents where patient = :patient and id = :id;

-- name: forget_memory
-- mark: one patient
-- One memory.
delete from memories where patient = :patient and id = :id;

-- name: forget_relearned_memory
-- mark: one patient
-- One memory, however often it was learned again.
delete from relearned_memories where patient = :patient and id = :id;

-- name: forget_message
-- mark: one patient
-- One turn.
delete from messages where patient = :patient and id = :id;

-- name: forget_messages
-- mark: one patient
-- All turns of a session.
delete from messages where patient = :patient and session = :id;

-- name: forget_calls
-- mark: one patient
-- All tool calls of a session.
delete from tool_calls where patient = :patient and session = :id;

-- name: forget_call
-- mark: one patient
-- One tool call.
delete from tool_calls where patient = :patient and id = :id;

-- name: forget_session
-- mark: one patient
-- That there was a session.
delete from sessions where patient = :patient and id = :id;

-- name: forget_ruling
-- mark: one patient
-- What a person decided.
delete from rulings where patient = :patient and id = :id;

-- name: forget_model_answer
-- mark: one patient
-- What a language model answered.
delete from model_answers where patient = :patient and id = :id;

-- name: forget_inference
-- mark: one patient
-- What an agent inferred, every version of it.
delete from inferences where patient = :patient and id = :id;

-- name: forget_receipt
-- mark: one patient
-- The account of a submission.
delete from receipts where patient = :patient and id = :id;

-- name: forget_work
-- mark: one patient
-- The forming of a submission.
delete from work where patient = :patient and ingestion = :id;

-- name: forget_context
-- mark: one patient
-- A context that was given out.
delete from contexts where patient = :patient and id = :id;

-- name: forget_source
-- mark: one patient
-- A source.
delete from sources where patient = :patient and id = :id;

-- name: forget_retraction
-- mark: one patient
-- That a source was taken out.
delete from retractions where patient = :patient and id = :id;

-- name: message_row
-- mark: one patient
-- Where a turn stands.
select session, position, sequence, received_at from messages where patient = :patient and id = :id;

-- name: insert_forgotten
-- mark: one patient
-- That something was erased.
insert into forgotten (patient, version, at) values (:patient, :version, :now);

-- name: count_forgotten
-- mark: one patient
-- How often something was erased.
select count(*) from forgotten where patient = :patient;

-- name: erase_forgotten
-- mark: one patient
-- Erase: that something was erased.
delete from forgotten where patient = :patient;

-- name: erase_holds
-- mark: one patient
-- Erase: holds that were lifted.
delete from holds where patient = :patient;

-- name: insert_hold
-- mark: one patient
-- A hold, or the lifting of one.
insert into holds (patient, id, lifts, at, body) values (:patient, :id, :lifts, :now, :body);

-- name: holds
-- mark: one patient
-- Every hold and every lifting, the earliest first.
select id, body from holds where patient = :patient order by at, id;

-- name: standing_holds
-- mark: one patient
-- The holds that nobody lifted.
select id from holds where patient = :patient and lifts = ''
and id not in (select lifts from holds where patient = :patient) order by id;

-- name: insert_erasure
-- mark: across patients
-- An entry of the ledger.
insert into erasures (id, at, mark, allows, body, finished_at)
values (:id, :at, :mark, :allows, :body, :finished_at) on conflict (id) do nothing;

-- name: finish_erasure
-- mark: across patients
-- Nothing of it is left.
update erasures set finished_at = :now where id = :id;

-- name: erasure_of
-- mark: across patients
-- The erasures of this that nobody allowed again, the latest first.
select e.id, e.body from erasures e where e.mark = :mark and e.allows = ''
and not exists (select 1 from erasures a where a.allows = e.id) order by e.at desc, e.id desc;

-- name: erasure
-- mark: across patients
-- One entry of the ledger.
select body from erasures where id = :id;

-- name: erasure_page
-- mark: across patients
-- A page of the ledger, newest first.
select body from erasures order by at desc, id desc limit :limit offset :offset;

-- name: count_erasures
-- mark: across patients
-- How many entries the ledger has.
select count(*) from erasures;

-- name: every_erasure
-- mark: across patients
-- The whole ledger, and what of it is done.
select id, body, finished_at from erasures order by at, id;

-- name: registrations
-- mark: across patients
-- Every patient as it was registered.
select patient, created_at, key_check from patients order by patient;

-- name: context_bodies
-- mark: one patient
-- Every context that was given out.
select id, body from contexts where patient = :patient order by id;

-- name: call_bodies
-- mark: one patient
-- Every tool call.
select id, body from tool_calls where patient = :patient order by id;

-- name: source_bodies
-- mark: one patient
-- Every source with each of its kinds.
select id, body from sources where patient = :patient order by id;

-- name: retraction_bodies
-- mark: one patient
-- Every retraction.
select id, body from retractions where patient = :patient order by id;

-- name: look_documents
-- mark: one patient
-- Every document, head and bytes.
select id, head, body from documents where patient = :patient order by id;

-- name: look_statements
-- mark: one patient
-- Every statement.
select id, rereading, body from statements where patient = :patient order by id, rereading;

-- name: look_passages
-- mark: one patient
-- Every passage.
select id, rereading, body from passages where patient = :patient order by id, rereading;

-- name: look_sightings
-- mark: one patient
-- Every sighting.
select id, rereading, item, document, body from sightings where patient = :patient order by id;

-- name: look_rereadings
-- mark: one patient
-- Every rereading.
select number, body from rereadings where patient = :patient order by number;

-- name: look_messages
-- mark: one patient
-- Every turn.
select id, body from messages where patient = :patient order by id;

-- name: look_memories
-- mark: one patient
-- Every memory.
select id, body from memories where patient = :patient order by id;

-- name: look_relearnings
-- mark: one patient
-- Every time that talk was learned again.
select number, body from relearnings where patient = :patient order by number;

-- name: look_receipts
-- mark: one patient
-- Every receipt.
select id, failure, body from receipts where patient = :patient order by id;

-- name: lock_subject
-- mark: across patients
-- Keep every other writer of this subject out until the transaction ends; no row if nothing is held of it.
update subjects set version = version where scope = :scope and subject = :subject;

-- name: subject_registrations
-- mark: across patients
-- Every organization, operator and agent as it was registered.
select scope, subject, created_at, key_check from subjects order by scope, subject;

-- name: subject_registration
-- mark: across patients
-- One of them.
select created_at, key_check from subjects where scope = :scope and subject = :subject;

-- name: erase_subject_entry_versions
-- mark: across patients
-- Erase: every version of every entry.
delete from entry_versions where scope = :scope and subject = :subject;

-- name: erase_subject_entry_documents
-- mark: across patients
-- Erase: the files that entries came from.
delete from entry_documents where scope = :scope and subject = :subject;

-- name: erase_subject_entry_refusals
-- mark: across patients
-- Erase: what people refused.
delete from entry_refusals where scope = :scope and subject = :subject;

-- name: forget_learned_of_subject
-- mark: one patient
-- That entries of this subject were learned from this patient.
delete from learned_from where patient = :patient and scope = :scope and subject = :subject;

-- name: erase_subject_subjects
-- mark: across patients
-- Erase: that anything was held of it.
delete from subjects where scope = :scope and subject = :subject;

-- name: forget_entry_document
-- mark: across patients
-- One file that an entry came from.
delete from entry_documents where scope = :scope and subject = :subject and id = :id;

-- name: forget_entry_refusals
-- mark: across patients
-- What people said of one entry.
delete from entry_refusals where scope = :scope and subject = :subject and entry = :id;

-- name: forget_learned_of_entry
-- mark: one patient
-- That one entry was learned from this patient.
delete from learned_from where patient = :patient and scope = :scope and subject = :subject and entry = :entry;

-- name: look_entry_documents
-- mark: across patients
-- Every file of one subject.
select id, about, body from entry_documents where scope = :scope and subject = :subject order by id;

-- name: look_entry_refusals
-- mark: across patients
-- Every word of people on what was learned of one subject.
select entry, number, body from entry_refusals where scope = :scope and subject = :subject order by entry, number;
