-- Taking a source out.

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
