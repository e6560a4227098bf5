-- Who did what: hash chains and their heads.

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
