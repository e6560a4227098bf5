-- The whole schema, top to bottom. New databases reach it by the migrations; a test holds the two together.
--
-- `mark: one patient`: a table of the patient graph. `patient` stands first in its primary key and in every unique
-- constraint, and its foreign keys stay inside the patient, so that Citus can distribute it (design 10).
-- `mark: across patients`: a small table that is not distributed (work, audit, tombstones) or a reference table.
--
-- `blob` columns named body, head, failure hold sealed bytes: compressed, AES-GCM under the patient's data key. Plain
-- columns are ids, kinds, counters, statuses and times of receipt. Times are ISO 8601 in UTC with microseconds.
-- `append only` says which tables refuse UPDATE; each database has its own trigger for it (dialects/).

-- mark: across patients
-- Which migration this database has reached: one row.
create table schema_version (
  version bigint not null primary key
);

-- mark: one patient
-- That there is a graph, and how often it changed. `sequence` counts submissions; `key_check` tells a wrong key store.
create table patients (
  patient text not null primary key,
  created_at text not null,
  updated_at text not null,
  version bigint not null,
  sequence bigint not null,
  key_check blob not null
);

-- mark: one patient
-- The systems that sent something, each with its kind; `id` is a keyed hash of both, `body` says which they are.
create table sources (
  patient text not null references patients (patient),
  id text not null,
  body blob not null,
  primary key (patient, id)
);

-- mark: one patient
-- Bytes exactly as received. `head` describes them; `body` comes last, so that a reader of heads never touches it.
create table documents (
  patient text not null references patients (patient),
  id text not null,
  sequence bigint not null,
  received_at text not null,
  head blob not null,
  body blob not null,
  primary key (patient, id)
);
-- append only: documents

-- mark: one patient
-- Each time the documents of this patient were read again. `body` names the documents that it reads otherwise.
create table rereadings (
  patient text not null references patients (patient),
  number bigint not null,
  at text not null,
  body blob not null,
  primary key (patient, number)
);
-- append only: rereadings

-- mark: one patient
-- Assertions as their sources hold them. `sequence` is that of the submission that first brought one, `rereading` the
-- number of the rereading that says it so (0: as first read).
create table statements (
  patient text not null references patients (patient),
  id text not null,
  rereading bigint not null,
  sequence bigint not null,
  kind text not null,
  reader text not null,
  body blob not null,
  primary key (patient, id, rereading)
);
create index statements_by_sequence on statements (patient, sequence);
-- append only: statements

-- mark: one patient
-- Stretches of narrative text.
create table passages (
  patient text not null references patients (patient),
  id text not null,
  rereading bigint not null,
  sequence bigint not null,
  reader text not null,
  body blob not null,
  primary key (patient, id, rereading)
);
create index passages_by_sequence on passages (patient, sequence);
-- append only: passages

-- mark: one patient
-- Where and when each item was seen. `id` is a keyed hash of item, document, place and rereading; `body` is the place.
create table sightings (
  patient text not null,
  id text not null,
  rereading bigint not null,
  sequence bigint not null,
  item text not null,
  document text not null,
  received_at text not null,
  body blob not null,
  primary key (patient, id),
  foreign key (patient, document) references documents (patient, id)
);
create index sightings_by_sequence on sightings (patient, sequence);
-- append only: sightings

-- mark: one patient
-- Conversations about this patient.
create table sessions (
  patient text not null references patients (patient),
  id text not null,
  created_at text not null,
  primary key (patient, id)
);

-- mark: one patient
-- Turns of a conversation, counted by `position` from 0.
create table messages (
  patient text not null,
  id text not null,
  session text not null,
  position bigint not null,
  sequence bigint not null,
  received_at text not null,
  body blob not null,
  primary key (patient, id),
  unique (patient, session, position),
  foreign key (patient, session) references sessions (patient, id)
);
-- append only: messages

-- mark: one patient
-- What was learned from messages, kept as it was said.
create table memories (
  patient text not null,
  id text not null,
  message text not null,
  kind text not null,
  received_at text not null,
  body blob not null,
  primary key (patient, id),
  foreign key (patient, message) references messages (patient, id)
);
-- append only: memories

-- mark: one patient
-- Each time the talk of this patient was read again. `body` names the memories that are found no more.
create table relearnings (
  patient text not null references patients (patient),
  number bigint not null,
  at text not null,
  body blob not null,
  primary key (patient, number)
);
-- append only: relearnings

-- mark: one patient
-- What a relearning found that is new, or says otherwise than before under the same id.
create table relearned_memories (
  patient text not null,
  id text not null,
  relearning bigint not null,
  message text not null,
  kind text not null,
  received_at text not null,
  body blob not null,
  primary key (patient, id, relearning),
  foreign key (patient, relearning) references relearnings (patient, number),
  foreign key (patient, message) references messages (patient, id)
);
-- append only: relearned_memories

-- mark: one patient
-- What agents asked of tools during a conversation. `position` counts the calls of a session from 0; `follows` is the
-- position of the message before, -1 if there was none. Not tied to `sessions`: a call may come before the first turn.
create table tool_calls (
  patient text not null references patients (patient),
  id text not null,
  session text not null,
  position bigint not null,
  follows bigint not null,
  received_at text not null,
  body blob not null,
  primary key (patient, id),
  unique (patient, session, position)
);
-- append only: tool_calls

-- mark: one patient
-- Runs of words that were put into somebody's context, as keyed hashes: what comes back in talk is known by them.
create table shown_words (
  patient text not null references patients (patient),
  mark blob not null,
  primary key (patient, mark)
);
-- append only: shown_words

-- mark: one patient
-- What people decided about records.
create table rulings (
  patient text not null references patients (patient),
  id text not null,
  body blob not null,
  primary key (patient, id)
);
-- append only: rulings

-- mark: one patient
-- Sources that were taken out, and when. `body` names the source; `id` is a keyed hash of both.
create table retractions (
  patient text not null references patients (patient),
  id text not null,
  at text not null,
  body blob not null,
  primary key (patient, id)
);
-- append only: retractions

-- mark: one patient
-- What a language model answered, so that it is asked once: its readings of talk, its adjudications of pairs. `id` is a
-- keyed hash of what was asked, of which model, under which version of the question.
create table model_answers (
  patient text not null references patients (patient),
  id text not null,
  received_at text not null,
  body blob not null,
  primary key (patient, id)
);
-- append only: model_answers

-- mark: one patient
-- The durable answer to each submission. What changes while it is formed is a column, the rest is sealed.
create table receipts (
  patient text not null references patients (patient),
  id text not null,
  sequence bigint not null,
  status text not null,
  received_at text not null,
  started_at text,
  completed_at text,
  failure_code text not null,
  failure blob,
  body blob not null,
  primary key (patient, id),
  unique (patient, sequence)
);

-- mark: one patient
-- The last formed graph, a cache: it can always be folded again.
create table projections (
  patient text not null primary key references patients (patient),
  formed_at text not null,
  body blob not null
);

-- mark: one patient
-- Contexts that were given out, by reference.
create table contexts (
  patient text not null references patients (patient),
  id text not null,
  created_at text not null,
  body blob not null,
  primary key (patient, id)
);

-- mark: one patient
-- Legal holds and their liftings: a row that `lifts` another ends it. `body` says who, when and why.
create table holds (
  patient text not null references patients (patient),
  id text not null,
  lifts text not null,
  at text not null,
  body blob not null,
  primary key (patient, id)
);
-- append only: holds

-- mark: one patient
-- Each time something of this patient was erased, by the graph version that it made: who has an older one loads anew.
create table forgotten (
  patient text not null references patients (patient),
  version bigint not null,
  at text not null,
  primary key (patient, version)
);
-- append only: forgotten

-- mark: across patients
-- Entries as they were written before they were sealed; emptied when the database is opened.
create table entries (
  scope text not null,
  subject text not null,
  id text not null,
  version bigint not null,
  kind text not null,
  body text not null,
  primary key (scope, subject, id, version)
);
-- append only: entries

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

-- mark: across patients
-- Submissions that are not formed yet. Only the oldest of a patient can be leased. `attempts` fences a lost lease.
create table work (
  patient text not null,
  sequence bigint not null,
  ingestion text not null,
  queued_at text not null,
  worker text not null,
  lease_until text not null,
  attempts bigint not null,
  primary key (patient, sequence)
);
create index work_by_age on work (queued_at, patient, sequence);

-- mark: across patients
-- Who did what: one chain of keyed hashes for each writing process. Ids and verbs only. Kept when a patient is erased.
create table audit (
  writer text not null,
  sequence bigint not null,
  at text not null,
  subject text not null,
  body text not null,
  hash blob not null,
  primary key (writer, sequence)
);
create index audit_by_time on audit (at, writer, sequence);
create index audit_by_subject on audit (subject, at, writer, sequence);
-- append only: audit

-- mark: across patients
-- How long each chain is, under a keyed hash: a cut tail or a missing chain shows.
create table audit_heads (
  writer text not null primary key,
  sequence bigint not null,
  hash blob not null
);

-- mark: across patients
-- That somebody was erased, without content: `mark` is a hash under a key that no longer exists.
create table tombstones (
  mark text not null primary key,
  erased_at text not null
);

-- mark: across patients
-- The ledger: what was erased, as keyed hashes and counts. `finished_at` is empty while an erasure is not done; `allows`
-- names the erasure after which somebody said that it may be sent again.
create table erasures (
  id text not null primary key,
  at text not null,
  mark text not null,
  allows text not null,
  body text not null,
  finished_at text not null
);
create index erasures_by_mark on erasures (mark);
create index erasures_by_time on erasures (at, id);

-- mark: across patients
-- How principals are related to patients, every version: care team, self, proxy, an opened break-glass. `body` is the
-- reason, sealed under the patient's key; `until` is empty where nothing ends it. Asked for by principal and by patient.
create table relations (
  patient text not null,
  id text not null,
  version bigint not null,
  principal text not null,
  kind text not null,
  since text not null,
  until text not null,
  made_by text not null,
  at text not null,
  body blob not null,
  primary key (patient, id, version)
);
create index relations_by_principal on relations (principal, patient);
-- append only: relations
