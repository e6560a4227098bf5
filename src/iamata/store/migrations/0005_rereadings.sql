-- Reading documents again: items are told apart by the rereading that brought them.

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

create table moved_statements as select * from statements;
drop table statements;

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
insert into statements (patient, id, rereading, sequence, kind, reader, body)
select patient, id, 0, sequence, kind, reader, body from moved_statements;
drop table moved_statements;
create index statements_by_sequence on statements (patient, sequence);
-- append only: statements

create table moved_passages as select * from passages;
drop table passages;

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
insert into passages (patient, id, rereading, sequence, reader, body)
select patient, id, 0, sequence, reader, body from moved_passages;
drop table moved_passages;
create index passages_by_sequence on passages (patient, sequence);
-- append only: passages

create table moved_sightings as select * from sightings;
drop table sightings;

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
insert into sightings (patient, id, rereading, sequence, item, document, received_at, body)
select patient, id, 0, sequence, item, document, received_at, body from moved_sightings;
drop table moved_sightings;
create index sightings_by_sequence on sightings (patient, sequence);
-- append only: sightings
