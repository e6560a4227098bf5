-- Organization, operator and agent knowledge: every version is kept.

-- name: register_subject
-- mark: across patients
-- A subject of which nothing was held.
insert into subjects (scope, subject, created_at, updated_at, version, key_check)
values (:scope, :subject, :now, :now, 0, :key_check)
on conflict (scope, subject) do nothing;

-- name: subject
-- mark: across patients
-- What is kept of one subject.
select version, key_check from subjects where scope = :scope and subject = :subject;

-- name: subjects
-- mark: across patients
-- Every subject, by scope and id.
select scope, subject from subjects order by scope, subject;

-- name: count_entry_change
-- mark: across patients
-- The entries of a subject have changed.
update subjects set version = version + 1, updated_at = :now where scope = :scope and subject = :subject;

-- name: insert_entry_version
-- mark: across patients
-- Append one version.
insert into entry_versions (scope, subject, id, version, kind, recorded_at, body)
values (:scope, :subject, :id, :version, :kind, :recorded_at, :body)
on conflict (scope, subject, id, version) do nothing;

-- name: entry_versions
-- mark: across patients
-- Every version of every entry of one subject.
select id, version, body from entry_versions where scope = :scope and subject = :subject order by id, version;

-- name: insert_entry_document
-- mark: across patients
-- A file as received; the same file again stays as it is.
insert into entry_documents (scope, subject, id, about, body) values (:scope, :subject, :id, :about, :body)
on conflict (scope, subject, id) do nothing;

-- name: entry_document
-- mark: across patients
-- One file.
select about, body from entry_documents where scope = :scope and subject = :subject and id = :id;

-- name: plain_entries
-- mark: across patients
-- Entries as they were written before they were sealed.
select scope, subject, body from entries order by scope, subject, id, version;

-- name: delete_plain_entries
-- mark: across patients
-- Those entries are sealed now.
delete from entries;

-- name: insert_inference
-- mark: one patient
-- Append one version of what an agent inferred.
insert into inferences (patient, id, version, recorded_at, body) values (:patient, :id, :version, :recorded_at, :body)
on conflict (patient, id, version) do nothing;

-- name: inferences
-- mark: one patient
-- Every version of what agents inferred.
select id, version, body from inferences where patient = :patient order by id, version;

-- name: insert_learned_from
-- mark: one patient
-- What was done for this patient is part of what an entry was learned from.
insert into learned_from (patient, scope, subject, entry) values (:patient, :scope, :subject, :entry)
on conflict (patient, scope, subject, entry) do nothing;

-- name: learned_from
-- mark: one patient
-- The entries that were learned from this patient too.
select scope, subject, entry from learned_from where patient = :patient order by scope, subject, entry;

-- name: delete_entry_versions
-- mark: across patients
-- Forget what was learned, every version of it.
delete from entry_versions where scope = :scope and subject = :subject and id = :id;

-- name: entry_refusals
-- mark: across patients
-- What was refused of a subject, and taken back, in order.
select entry, refused from entry_refusals where scope = :scope and subject = :subject order by entry, number;

-- name: count_refusals
-- mark: across patients
-- How often it was refused or taken back.
select count(*) from entry_refusals where scope = :scope and subject = :subject and entry = :entry;

-- name: insert_refusal
-- mark: across patients
-- A person refuses what was learned, or takes that back.
insert into entry_refusals (scope, subject, entry, number, refused, body)
values (:scope, :subject, :entry, :number, :refused, :body);
