-- Registering, locking, listing and erasing patients.

-- name: register_patient
-- mark: one patient
-- Register a patient; nothing happens if it is there.
insert into patients (patient, created_at, updated_at, version, sequence, key_check)
values (:patient, :now, :now, 0, 0, :key_check)
on conflict (patient) do nothing;

-- name: lock_patient
-- mark: one patient
-- Read the counters and keep every other writer of this patient out until the transaction ends.
select version, sequence, key_check from patients where patient = :patient;

-- name: patient
-- mark: one patient
-- The row of one patient.
select patient, created_at, updated_at, version, key_check from patients where patient = :patient;

-- name: count_submission
-- mark: one patient
-- Use up one submission number; the graph did not change.
update patients set sequence = :sequence where patient = :patient;

-- name: count_change
-- mark: one patient
-- Use up one submission number and one graph version.
update patients set sequence = :sequence, version = :version, updated_at = :now where patient = :patient;

-- name: patients
-- mark: across patients
-- A page of the register.
select patient, created_at, updated_at, version from patients order by patient limit :limit offset :offset;

-- name: count_patients
-- mark: across patients
-- How many patients are registered.
select count(*) from patients;

-- name: erase_work
-- mark: one patient
-- Erase: queued work.
delete from work where patient = :patient;

-- name: erase_relations
-- mark: one patient
-- Erase: who was related to the patient.
delete from relations where patient = :patient;

-- name: erase_contexts
-- mark: one patient
-- Erase: contexts given out.
delete from contexts where patient = :patient;

-- name: erase_projections
-- mark: one patient
-- Erase: the formed graph.
delete from projections where patient = :patient;

-- name: erase_receipts
-- mark: one patient
-- Erase: receipts.
delete from receipts where patient = :patient;

-- name: erase_learned_from
-- mark: one patient
-- Erase: that entries were learned from this patient.
delete from learned_from where patient = :patient;

-- name: erase_inferences
-- mark: one patient
-- Erase: what agents inferred.
delete from inferences where patient = :patient;

-- name: erase_rulings
-- mark: one patient
-- Erase: rulings.
delete from rulings where patient = :patient;

-- name: erase_retractions
-- mark: one patient
-- Erase: retractions.
delete from retractions where patient = :patient;

-- name: erase_model_answers
-- mark: one patient
-- Erase: what language models answered.
delete from model_answers where patient = :patient;

-- name: erase_tool_calls
-- mark: one patient
-- Erase: tool calls.
delete from tool_calls where patient = :patient;

-- name: erase_shown_words
-- mark: one patient
-- Erase: what was put into contexts.
delete from shown_words where patient = :patient;

-- name: erase_relearned_memories
-- mark: one patient
-- Erase: what was learned again.
delete from relearned_memories where patient = :patient;

-- name: erase_relearnings
-- mark: one patient
-- Erase: that talk was read again.
delete from relearnings where patient = :patient;

-- name: erase_memories
-- mark: one patient
-- Erase: memories.
delete from memories where patient = :patient;

-- name: erase_messages
-- mark: one patient
-- Erase: messages.
delete from messages where patient = :patient;

-- name: erase_sessions
-- mark: one patient
-- Erase: sessions.
delete from sessions where patient = :patient;

-- name: erase_sightings
-- mark: one patient
-- Erase: sightings.
delete from sightings where patient = :patient;

-- name: erase_passages
-- mark: one patient
-- Erase: passages.
delete from passages where patient = :patient;

-- name: erase_statements
-- mark: one patient
-- Erase: statements.
delete from statements where patient = :patient;

-- name: erase_rereadings
-- mark: one patient
-- Erase: that documents were read again.
delete from rereadings where patient = :patient;

-- name: erase_documents
-- mark: one patient
-- Erase: documents.
delete from documents where patient = :patient;

-- name: erase_sources
-- mark: one patient
-- Erase: sources.
delete from sources where patient = :patient;

-- name: erase_patients
-- mark: one patient
-- Erase: the registration itself.
delete from patients where patient = :patient;

-- name: insert_tombstone
-- mark: across patients
-- Remember that somebody was erased, not who.
insert into tombstones (mark, erased_at) values (:mark, :now) on conflict (mark) do nothing;
