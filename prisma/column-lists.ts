import {
  COLUMN_TYPES,
  enqueuedColumns,
  jobColumns,
  type NamedColumn,
} from '../packages/db/src/job-columns.ts'

type ToSql = (column: NamedColumn) => string

const asJson = ({ type }: NamedColumn) => type === 'json' || type === 'jsonb'
/** In JSON arguments of a function, JSON columns are text: a null inside JSON would read as a missing value. */
const given: ToSql = (column) => (asJson(column) ? 'text' : COLUMN_TYPES[column.type].postgres)
const cast: ToSql = (column) => (asJson(column) ? `::${column.type}` : '')

/** The texts for `{{name}}` in postgres/functions/*.sql. */
export function columnLists(): Record<string, string> {
  const [claimed, extras, kept] = [jobColumns('claim'), jobColumns('extras'), jobColumns('history')]
  const [enqueued, replaced, requeued] = [
    enqueuedColumns(),
    enqueuedColumns('replace'),
    jobColumns('requeue'),
  ]
  return {
    // The payload is the last field, and written by hand.
    claim_fields: list(
      claimed.filter(({ big }) => !big),
      ({ name, claimed: field }) => field ?? `j.${name}`,
    ),
    extra_values: list(extras, ({ name }) => `j.${name}`),
    extra_entries: list(extras, ({ name, field }) => `'${field}', j.${name}`),
    history_columns: list(kept, ({ name }) => name),
    history_values: list(kept, ({ name, stored }) => stored ?? name),
    requeue_columns: list(requeued, ({ name }) => name),
    requeue_values: list(requeued, ({ name }) => `b.${name}`),
    enqueue_types: list(enqueued, (column) => `${column.name} ${given(column)}`),
    enqueue_columns: list(enqueued, ({ name }) => name),
    enqueue_values: list(enqueued, (column) => `v.${column.name}${cast(column)}`),
    replace_parameters: list(replaced, (column) => `p_${column.name} ${given(column)}`),
    replace_arguments: list(replaced, ({ name }) => `v.${name}`),
    replace_changes: list(replaced, (column) => `${column.name} = p_${column.name}${cast(column)}`),
  }
}

function list(columns: readonly NamedColumn[], toSql: ToSql): string {
  return columns.map(toSql).join(', ')
}
