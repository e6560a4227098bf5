-- How principals are related to patients.

-- name: insert_relation
-- mark: one patient
-- One version of a relation.
insert into relations (patient, id, version, principal, kind, since, until, made_by, at, body)
values (:patient, :id, :version, :principal, :kind, :since, :until, :made_by, :at, :body);

-- name: relations_between
-- mark: one patient
-- Every version of the relations of a principal and a patient.
select id, version, principal, kind, since, until, made_by, at from relations
where patient = :patient and principal = :principal order by id, version;

-- name: relations_of_patient
-- mark: one patient
-- Every version of the relations of a patient.
select id, version, principal, kind, since, until, made_by, at, body from relations
where patient = :patient order by id, version;

-- name: relation_bodies
-- mark: one patient
-- The sealed reason of every version of a relation.
select id, body from relations where patient = :patient order by id, version;

-- name: relations_of_principal
-- mark: across patients
-- Every version of the relations of a principal.
select patient, id, version, principal, kind, since, until, made_by, at from relations
where principal = :principal order by patient, id, version;

-- name: relations_of_kind
-- mark: across patients
-- Every version of the relations of one kind.
select patient, id, version, principal, kind, since, until, made_by, at, body from relations
where kind = :kind order by at, patient, id, version;
