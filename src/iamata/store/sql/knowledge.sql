-- Organization, operator and agent knowledge: every version is kept.

-- name: insert_entry
-- mark: across patients
-- Append one version.
insert into entries (scope, subject, id, version, kind, body) values (:scope, :subject, :id, :version, :kind, :body)
on conflict (scope, subject, id, version) do nothing;

-- name: entries
-- mark: across patients
-- Every version of every entry of one subject.
select body from entries where scope = :scope and subject = :subject order by id, version;
