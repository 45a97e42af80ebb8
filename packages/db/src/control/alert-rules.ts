import { LIMITS, newJobId, OncueError } from '@oncue/core'
import { assertText, queueSchema, toInputError } from '@oncue/core/internal'
import { ALERT_KINDS, DEFAULT_ALERT_RULES } from '@oncue/core/wire'
import { z } from 'zod'
import type { AlertRuleControl, AlertRuleRow, NewAlertRule } from '../portable/alerts.ts'
import { assertBy } from '../portable/audit.ts'
import { isUuid } from '../uuid.ts'
import { type Context, given } from './client.ts'

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

export function createAlertRules({ client, now }: Context): AlertRuleControl {
  async function find(id: string): Promise<AlertRuleRow> {
    const rule = isUuid(id) ? await client.alertRule.findUnique({ where: { id } }) : null
    if (!rule) throw new OncueError('ALERT_RULE_NOT_FOUND', `There is no rule ${JSON.stringify(id)}`)
    return rule as AlertRuleRow
  }

  const update: AlertRuleControl['update'] = async (id, change, by) => {
    const { name, threshold, forMs, enabled } = change
    const { kind, queue, ...before } = await find(id)
    check(
      {
        kind,
        queue,
        name: name ?? before.name,
        threshold: threshold ?? before.threshold,
        forMs: forMs ?? before.forMs,
        enabled: enabled ?? before.enabled,
      },
      by,
    )
    // Only the given fields: another request may change the others at the same time.
    const changed = given({ name, threshold, forMs, enabled })
    const data = { ...changed, updated: await now(), updatedBy: by ?? null }
    await client.alertRule.updateMany({ where: { id }, data })
    return find(id)
  }

  return {
    async addDefaults() {
      const created = await now()
      const rules = Object.entries(DEFAULT_ALERT_RULES).map(([builtIn, { name, threshold, forSeconds }]) =>
        client.alertRule.upsert({
          where: { builtIn },
          create: {
            id: newJobId(created.getTime()),
            kind: builtIn,
            name,
            threshold,
            forMs: forSeconds * 1_000,
            enabled: true,
            builtIn,
            created,
            updated: created,
          },
          // Changes nothing. Without a field, Prisma would read first and then insert, and lose races.
          update: { builtIn },
        }),
      )
      await client.$transaction(rules)
    },

    async list() {
      const rules = await client.alertRule.findMany({ orderBy: [{ created: 'asc' }, { id: 'asc' }] })
      const [builtIn, added] = [rules.filter((rule) => rule.builtIn), rules.filter((rule) => !rule.builtIn)]
      return [...builtIn, ...added] as AlertRuleRow[]
    },

    async create(rule, by) {
      check(rule, by)
      const created = await now()
      const { name, kind, queue, threshold, forMs, enabled } = rule
      const id = newJobId(created.getTime())
      const data = { id, name, kind, queue, threshold, forMs, enabled, created, updated: created }
      return (await client.alertRule.create({ data: { ...data, updatedBy: by ?? null } })) as AlertRuleRow
    },

    update,

    async delete(id, by) {
      const { builtIn } = await find(id)
      if (builtIn !== null) await update(id, { enabled: false }, by)
      else await client.alertRule.deleteMany({ where: { id } })
    },
  }
}

function check(rule: NewAlertRule, by: string | undefined): void {
  const parsed = ruleSchema.safeParse(rule)
  if (!parsed.success) throw toInputError(parsed.error, 'rule', rule)
  assertText(rule.name, 'rule.name')
  assertBy(by)
}
