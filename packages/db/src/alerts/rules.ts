import { LIMITS, newJobId, OncueError } from '@oncue/core'
import { assertText, queueSchema, toInputError } from '@oncue/core/internal'
import { ALERT_KINDS, type AlertKind, DEFAULT_ALERT_RULES } from '@oncue/core/wire'
import { z } from 'zod'
import type { AlertRuleChange, AlertRuleRow, AlertRuleStore, NewAlertRule } from '../alerts.ts'
import { assertBy } from '../by.ts'
import { type Fragment, join, q, raw } from '../reads/fragment.ts'
import type { Sql } from '../sql.ts'
import { isUuid } from '../uuid.ts'

type StoredRule = {
  readonly id: string
  readonly name: string
  readonly kind: AlertKind
  readonly queue: string | null
  readonly threshold: number
  readonly for_ms: number
  readonly enabled: boolean | number
  readonly built_in: string | null
  readonly created: unknown
  readonly updated: unknown
  readonly updated_by: string | null
}

const ruleSchema = z
  .strictObject({
    name: z.string().min(1).max(LIMITS.keyLength),
    kind: z.enum(ALERT_KINDS),
    queue: queueSchema.nullable(),
    threshold: z.number().min(0).max(1e12),
    forMs: z.int().min(0).max(86_400_000),
    enabled: z.boolean(),
  })
  .refine(({ kind, threshold }) => kind !== 'failure_rate' || threshold <= 1, {
    path: ['threshold'],
    error: 'is a share of runs, from 0 to 1',
  })

/** Written once for both databases. */
export function createAlertRules(sql: Sql): AlertRuleStore {
  const read = (row: StoredRule): AlertRuleRow => ({
    id: row.id,
    name: row.name,
    kind: row.kind,
    queue: row.queue,
    threshold: row.threshold,
    forMs: row.for_ms,
    enabled: Boolean(row.enabled),
    builtIn: row.built_in,
    created: sql.time(row.created) as Date,
    updated: sql.time(row.updated) as Date,
    updatedBy: row.updated_by,
  })

  async function find(id: string): Promise<AlertRuleRow> {
    const [row] = isUuid(id) ? await sql.all<StoredRule>(q`select * from {alert_rules} where id = ${id}`) : []
    if (!row) throw notFound(id)
    return read(row)
  }

  async function update(id: string, change: AlertRuleChange, by?: string): Promise<AlertRuleRow> {
    const { name, threshold, forMs, enabled } = change
    const { kind, queue, ...before } = await find(id)
    check(
      {
        ...{ kind, queue, name: name ?? before.name, threshold: threshold ?? before.threshold },
        ...{ forMs: forMs ?? before.forMs, enabled: enabled ?? before.enabled },
      },
      by,
    )
    // Only what is to be changed: somebody else may change the rest at the same time.
    const columns = { name, threshold, for_ms: forMs, enabled }
    const set = Object.entries(columns).flatMap(([column, value]) =>
      value === undefined ? [] : [q`${raw(column)} = ${value}`],
    )
    const now = await sql.now()
    await sql.run(
      q`update {alert_rules} set ${join(
        [...set, q`updated = ${now}, updated_by = ${by ?? null}`],
        ', ',
      )} where id = ${id}`,
    )
    return find(id)
  }

  return {
    async addDefaults() {
      const now = await sql.now()
      const rules = Object.entries(DEFAULT_ALERT_RULES).map(
        ([kind, { name, threshold, forSeconds }]): AlertRuleRow => ({
          ...{ id: newJobId(now.getTime()), kind: kind as AlertKind, name, queue: null, threshold },
          ...{ forMs: forSeconds * 1_000, enabled: true, builtIn: kind },
          ...{ created: now, updated: now, updatedBy: null },
        }),
      )
      await sql.run(...rules.map((rule) => q`${insert(rule)} on conflict do nothing`))
    },

    async list() {
      const rows = await sql.all<StoredRule>(
        q`select * from {alert_rules} order by case when built_in is null then 1 else 0 end, created, id`,
      )
      return rows.map(read)
    },

    async create(rule, by) {
      check(rule, by)
      const now = await sql.now()
      const row: AlertRuleRow = {
        ...{ ...rule, id: newJobId(now.getTime()), builtIn: null },
        ...{ created: now, updated: now, updatedBy: by ?? null },
      }
      await sql.run(insert(row))
      return row
    },

    update,

    async delete(id, by) {
      const { builtIn } = await find(id)
      if (builtIn !== null) await update(id, { enabled: false }, by)
      else await sql.run(q`delete from {alert_rules} where id = ${id}`)
    },
  }
}

function insert(rule: AlertRuleRow): Fragment {
  return q`insert into {alert_rules}
      (id, name, kind, queue, threshold, for_ms, enabled, built_in, created, updated, updated_by)
    values (${rule.id}, ${rule.name}, ${rule.kind}, ${rule.queue}, ${rule.threshold}, ${rule.forMs},
      ${rule.enabled}, ${rule.builtIn}, ${rule.created}, ${rule.updated}, ${rule.updatedBy})`
}

function check(rule: NewAlertRule, by: string | undefined): void {
  const parsed = ruleSchema.safeParse(rule)
  if (!parsed.success) throw toInputError(parsed.error, 'rule', rule)
  assertText(rule.name, 'rule.name')
  assertBy(by)
}

function notFound(id: string): OncueError {
  return new OncueError('ALERT_RULE_NOT_FOUND', `There is no rule ${JSON.stringify(id)}`)
}
