import { LIMITS, newJobId, OncueError } from '@oncue/core'
import { assertText, queueSchema, topicSchema } from '@oncue/core/internal'
import {
  ALERT_KINDS,
  DEFAULT_ALERT_RULES,
  type Health,
  type ListAlertsRequest,
  type Page,
} from '@oncue/core/wire'
import { z } from 'zod'
import type { Alert, Prisma } from '../generated/sqlite/client.ts'
import type { AlertRow, AlertRuleRow } from '../portable/alerts.ts'
import { assertBy } from '../portable/audit.ts'
import { parseInput } from '../portable/reads/filter.ts'
import { isUuid } from '../uuid.ts'
import { type Context, given } from './client.ts'
import { type Cursored, type Pruned, readPage } from './page.ts'

export type NewAlertRule = Pick<
  AlertRuleRow,
  'name' | 'kind' | 'queue' | 'threshold' | 'forMs' | 'enabled'
> & {
  readonly topic?: AlertRuleRow['topic'] | undefined
}

export type AlertRuleChange = {
  readonly [Field in 'name' | 'threshold' | 'forMs' | 'enabled']?: AlertRuleRow[Field] | undefined
}

/** Failed jobs are rarely kept for longer. */
const MAX_DAYS = 365

const ruleSchema = z
  .strictObject({
    name: z.string().min(1).max(LIMITS.keyLength),
    kind: z.enum(ALERT_KINDS),
    queue: queueSchema.nullable(),
    topic: topicSchema.nullish(),
    threshold: z.number().min(0).max(1e12),
    forMs: z.int().min(0).max(86_400_000),
    enabled: z.boolean(),
  })
  .refine(({ kind, threshold }) => !kind.endsWith('failure_rate') || threshold <= 1, {
    path: ['threshold'],
    error: 'must be a share of runs, from 0 to 1',
  })
  .refine(({ kind, threshold }) => kind !== 'new_error' || (threshold >= 1 && threshold <= MAX_DAYS), {
    path: ['threshold'],
    error: `must be a number of days, from 1 to ${MAX_DAYS}`,
  })
  .refine(({ kind, topic }) => (kind === 'topic_failure_rate') === (typeof topic === 'string'), {
    path: ['topic'],
    error: 'is required for topic_failure_rate, and for no other kind',
  })
  .refine(({ kind, queue }) => kind !== 'topic_failure_rate' || queue === null, {
    path: ['queue'],
    error: 'must be null for topic_failure_rate: a topic may be in several queues',
  })

const ruleOf = ({ name, kind, queue, topic = null, threshold, forMs, enabled }: NewAlertRule) => {
  return { name, kind, queue, topic, threshold, forMs, enabled }
}

/** When to alert. ALERT_RULE_NOT_FOUND for an id that does not exist. */
export function createAlertRules({ client, now }: Context) {
  async function find(id: string): Promise<AlertRuleRow> {
    const rule = isUuid(id) ? await client.alertRule.findFirst({ where: { id } }) : null
    if (!rule) throw new OncueError('ALERT_RULE_NOT_FOUND', `There is no rule ${JSON.stringify(id)}`)
    return rule as AlertRuleRow
  }

  async function update(id: string, change: AlertRuleChange, by?: string): Promise<AlertRuleRow> {
    const { name, threshold, forMs, enabled } = change
    // Only the given fields: another request may change the others at the same time.
    const changed = given({ name, threshold, forMs, enabled })
    check({ ...ruleOf(await find(id)), ...changed }, by)
    const data = { ...changed, updated: await now(), updatedBy: by ?? null }
    await client.alertRule.updateMany({ where: { id }, data })
    return find(id)
  }

  return {
    /** Creates the rules that every installation begins with. Those that exist stay as they are. */
    async addDefaults(): Promise<void> {
      const created = await now()
      for (const [builtIn, { name, threshold, forSeconds }] of Object.entries(DEFAULT_ALERT_RULES)) {
        await client.alertRule.upsert({
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
        })
      }
    },

    /** The built-in ones first. */
    async list(): Promise<AlertRuleRow[]> {
      const rules = await client.alertRule.findMany({ orderBy: [{ created: 'asc' }, { id: 'asc' }] })
      const [builtIn, added] = [rules.filter((rule) => rule.builtIn), rules.filter((rule) => !rule.builtIn)]
      return [...builtIn, ...added] as AlertRuleRow[]
    },

    async create(rule: NewAlertRule, by?: string): Promise<AlertRuleRow> {
      check(rule, by)
      const created = await now()
      const id = newJobId(created.getTime())
      const data = { id, ...ruleOf(rule), created, updated: created, updatedBy: by ?? null }
      return (await client.alertRule.create({ data })) as AlertRuleRow
    },

    update,

    /** A built-in rule is disabled instead: the next start would create it again. */
    async delete(id: string, by?: string): Promise<void> {
      const { builtIn } = await find(id)
      if (builtIn !== null) await update(id, { enabled: false }, by)
      else await client.alertRule.deleteMany({ where: { id } })
    },
  }
}

function check(rule: NewAlertRule, by: string | undefined): void {
  parseInput(ruleSchema, rule, 'rule')
  assertBy(by)
}

const MAX_SNOOZE_MS = 7 * 86_400_000
const UNACKED = { ackedAt: null, ackedBy: null }
const UNSNOOZED = { snoozedUntil: null, snoozedBy: null }

/** Alerts that have fired; ALERT_NOT_FOUND for any other. */
export function createAlerts({ client, now }: Context) {
  async function get(id: string): Promise<AlertRow> {
    const where = { id, status: { not: 'pending' } }
    const alert = isUuid(id) ? await client.alert.findFirst({ where }) : null
    if (!alert) throw new OncueError('ALERT_NOT_FOUND', `There is no alert ${JSON.stringify(id)}`)
    return toAlert(alert)
  }

  async function mark(
    id: string,
    data: Prisma.AlertUpdateManyMutationInput,
    where: Prisma.AlertWhereInput = {},
  ): Promise<AlertRow> {
    if (isUuid(id))
      await client.alert.updateMany({
        where: { ...where, id, status: 'firing' },
        data: { ...data, updated: await now() },
      })
    const alert = await get(id)
    if (alert.status === 'resolved') {
      const hint = 'Nothing to do: read the list of alerts again.'
      throw new OncueError('INVALID_STATE', `Alert ${id} is resolved`, { hint })
    }
    return alert
  }

  return {
    get,

    /** Latest to fire first. */
    async list(
      filter: Omit<ListAlertsRequest, keyof Cursored> = {},
      page: Cursored = {},
    ): Promise<Page<AlertRow>> {
      const { state, queue } = filter
      if (queue !== undefined) assertText(queue, 'queue')
      return readPage(
        { state, queue },
        page,
        toAlert,
        ({ firedAt }) => firedAt,
        (after, take) =>
          client.alert.findMany({
            where: {
              status: state === undefined ? { not: 'pending' } : STATUS[state],
              ...(queue !== undefined && { subject: queue }),
              ...(after && {
                firedAt: { lte: after.created },
                OR: [{ firedAt: { lt: after.created } }, { id: { lt: after.id } }],
              }),
            },
            orderBy: [{ firedAt: 'desc' }, { id: 'desc' }],
            take,
          }),
      )
    },

    /** How many fire, are acknowledged, are snoozed. */
    async counts(): Promise<Health['alerts']> {
      const time = await now()
      const select = { ackedAt: true, snoozedUntil: true }
      const open = await client.alert.findMany({ where: { status: 'firing' }, select })
      const acked = open.filter(({ ackedAt }) => ackedAt).length
      const snoozed = open.filter(({ snoozedUntil }) => snoozedUntil && snoozedUntil > time).length
      return { firing: open.length - acked - snoozed, acked, snoozed }
    },

    // --- acks and snoozes by people, on firing alerts; INVALID_STATE once resolved. Repeating one changes nothing.

    async ack(id: string, by: string): Promise<AlertRow> {
      assertBy(by)
      return mark(id, { ackedAt: await now(), ackedBy: by, ...UNSNOOZED }, { ackedAt: null })
    },

    /** Several at once. Those that are resolved, or do not exist, are left out. */
    async ackAll(ids: readonly string[], by: string): Promise<AlertRow[]> {
      assertBy(by)
      const time = await now()
      const where = { id: { in: ids.filter(isUuid) }, status: 'firing' }
      await client.alert.updateMany({
        where: { ...where, ackedAt: null },
        data: { ackedAt: time, ackedBy: by, ...UNSNOOZED, updated: time },
      })
      const rows = await client.alert.findMany({ where, orderBy: [{ firedAt: 'desc' }, { id: 'desc' }] })
      return rows.map(toAlert)
    },

    unack: (id: string) => mark(id, UNACKED, { ackedAt: { not: null } }),

    /** At most a week. A second snooze sets the new end. */
    async snooze(id: string, until: Date, by: string): Promise<AlertRow> {
      assertBy(by)
      const time = (await now()).getTime()
      if (!(until.getTime() > time && until.getTime() <= time + MAX_SNOOZE_MS))
        throw new OncueError('INVALID_INPUT', 'until must be in the future, at most a week from now')
      return mark(id, { snoozedUntil: until, snoozedBy: by, ...UNACKED })
    },

    unsnooze: (id: string) => mark(id, UNSNOOZED, { snoozedUntil: { not: null } }),

    // --- for the evaluator

    /** All that are not resolved, including those that have not fired yet. */
    async episodes(): Promise<AlertRow[]> {
      const where = { status: { not: 'resolved' } }
      const rows = await client.alert.findMany({ where, orderBy: [{ since: 'asc' }, { id: 'asc' }] })
      return rows.map(toAlert)
    },

    /** Those with transitions that were not delivered yet, the oldest first, up to 100. */
    async untold(): Promise<AlertRow[]> {
      const rows = await client.alert.findMany({
        where: { notified: { lt: client.alert.fields.transitions } },
        orderBy: [{ updated: 'asc' }, { id: 'asc' }],
        take: 100,
      })
      return rows.map(toAlert)
    },

    /** Marks this many of its transitions as delivered. */
    async told(id: string, transitions: number, at?: Date): Promise<void> {
      const where = { id, notified: { lt: transitions } }
      const toldAt = at ?? (await now())
      await client.alert.updateMany({ where, data: { notified: transitions, toldAt } })
    },

    /** When alerts were delivered since then: each time stands for one message. */
    async toldSince(since: Date): Promise<Date[]> {
      const rows = await client.alert.findMany({
        where: { toldAt: { gt: since } },
        distinct: ['toldAt'],
        select: { toldAt: true },
      })
      return rows.flatMap(({ toldAt }) => toldAt ?? [])
    },

    /** The alerts of these groups that are not resolved. */
    async openIn(groupIds: readonly string[]): Promise<AlertRow[]> {
      const where = {
        status: 'firing',
        OR: [{ groupId: { in: [...groupIds] } }, { id: { in: [...groupIds] } }],
      }
      return (await client.alert.findMany({ where, orderBy: [{ firedAt: 'asc' }, { id: 'asc' }] })).map(
        toAlert,
      )
    },

    /** Removes alerts resolved before a time, one batch per call; returns how many. */
    async prune({ before, limit = 1_000 }: Pruned): Promise<number> {
      const ended = await client.alert.findMany({
        where: { status: 'resolved', resolvedAt: { lt: before } },
        orderBy: { resolvedAt: 'asc' },
        take: limit,
        select: { id: true },
      })
      const { count } = await client.alert.deleteMany({ where: { id: { in: ended.map(({ id }) => id) } } })
      return count
    },
  }
}

const STATUS = { open: 'firing', resolved: 'resolved' } as const

function toAlert(row: Alert): AlertRow {
  const { subject, ackedAt, ackedBy, snoozedUntil, snoozedBy, toldAt: _, ...same } = row
  return {
    ...(same as Pick<AlertRow, keyof typeof same>),
    queue: subject || null,
    acked: ackedAt && { at: ackedAt, by: ackedBy ?? '' },
    snoozed: snoozedUntil && { until: snoozedUntil, by: snoozedBy ?? '' },
  }
}
