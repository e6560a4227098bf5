-- Knowledge of organizations, operators and agents.

-- mark: across patients
-- Organization, operator and agent knowledge, every version. The subject is (scope, subject).
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
