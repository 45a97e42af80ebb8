-- Run by the Postgres image once, when its volume is new, as the superuser and in the database of POSTGRES_DB. Oncue
-- itself never has the superuser: migrations run as the owner of the schema, API and workers may only read and write rows.
\getenv owner_password ONCUE_OWNER_PASSWORD
\getenv app_password ONCUE_APP_PASSWORD

create role oncue_owner login password :'owner_password';
create role oncue_app login password :'app_password';

create schema oncue authorization oncue_owner;
grant usage on schema oncue to oncue_app;
alter default privileges for role oncue_owner in schema oncue
  grant select, insert, update, delete on tables to oncue_app;
