-- Talk read again by a better extractor.

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
