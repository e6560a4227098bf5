-- Forgetting: legal holds, that something was erased, and the ledger of all erasures.

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
