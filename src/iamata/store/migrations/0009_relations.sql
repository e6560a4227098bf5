-- How principals are related to patients.

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
