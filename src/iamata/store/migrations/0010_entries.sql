-- Entries sealed under a key of their subject, and the files they came from.

-- mark: across patients
-- Organizations, operators and agents of which something is held. `version` counts the changes of their entries.
create table subjects (
  scope text not null,
  subject text not null,
  created_at text not null,
  updated_at text not null,
  version bigint not null,
  key_check blob not null,
  primary key (scope, subject)
);

-- mark: across patients
-- Every version of every entry, sealed. The subject is (scope, subject).
create table entry_versions (
  scope text not null,
  subject text not null,
  id text not null,
  version bigint not null,
  kind text not null,
  recorded_at text not null,
  body blob not null,
  primary key (scope, subject, id, version)
);
-- append only: entry_versions

-- mark: across patients
-- The files that entries came from, exactly as received, sealed. `about` says what the file is.
create table entry_documents (
  scope text not null,
  subject text not null,
  id text not null,
  about blob not null,
  body blob not null,
  primary key (scope, subject, id)
);
-- append only: entry_documents

-- mark: one patient
-- What agents inferred of a patient: every version of every entry.
create table inferences (
  patient text not null references patients (patient),
  id text not null,
  version bigint not null,
  recorded_at text not null,
  body blob not null,
  primary key (patient, id, version)
);
-- append only: inferences

-- mark: one patient
-- Which entries were learned from what was done for this patient: they go when the patient is erased.
create table learned_from (
  patient text not null references patients (patient),
  scope text not null,
  subject text not null,
  entry text not null,
  primary key (patient, scope, subject, entry)
);

-- mark: across patients
-- What people refused to have learned; the last word of each entry counts. Sealed: by whom and why.
create table entry_refusals (
  scope text not null,
  subject text not null,
  entry text not null,
  number bigint not null,
  refused bigint not null,
  body blob not null,
  primary key (scope, subject, entry, number)
);
-- append only: entry_refusals
