import { OncueError } from '@oncue/core'
import { assertText } from '@oncue/core/internal'
import type { Alert, Prisma } from '../generated/sqlite/client.ts'
import type { AlertControl, AlertRow } from '../portable/alerts.ts'
import { assertBy } from '../portable/audit.ts'
import { assertPageSize, decodeCursor, encodeCursor } from '../portable/reads/cursor.ts'
import { isUuid } from '../uuid.ts'
import type { Context } from './client.ts'

const MAX_SNOOZE_MS = 7 * 86_400_000
const UNACKED = { ackedAt: null, ackedBy: null }
const UNSNOOZED = { snoozedUntil: null, snoozedBy: null }

export function createAlerts({ client, now }: Context): AlertControl {
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
      const hint = 'Nothing is left to do: read the list of alerts again.'
      throw new OncueError('INVALID_STATE', `Alert ${id} is resolved`, { hint })
    }
    return alert
  }

  return {
    get,

    async list({ state, queue } = {}, { limit = 50, cursor } = {}) {
      assertPageSize(limit)
      if (queue !== undefined) assertText(queue, 'queue')
      const filter = { state, queue }
      const after = cursor === undefined ? null : decodeCursor(cursor, filter)
      const rows = await client.alert.findMany({
        where: {
          status: state === undefined ? { not: 'pending' } : STATUS[state],
          ...(queue !== undefined && { subject: queue }),
          ...(after && {
            firedAt: { lte: after.created },
            OR: [{ firedAt: { lt: after.created } }, { id: { lt: after.id } }],
          }),
        },
        orderBy: [{ firedAt: 'desc' }, { id: 'desc' }],
        take: limit + 1,
      })
      const items = rows.slice(0, limit).map(toAlert)
      const last = items.at(-1)
      const more = rows.length > limit && last?.firedAt
      return { items, nextCursor: more ? encodeCursor({ created: more, id: last.id }, filter) : null }
    },

    async counts() {
      const time = await now()
      const select = { ackedAt: true, snoozedUntil: true }
      const open = await client.alert.findMany({ where: { status: 'firing' }, select })
      const acked = open.filter(({ ackedAt }) => ackedAt).length
      const snoozed = open.filter(({ snoozedUntil }) => snoozedUntil && snoozedUntil > time).length
      return { firing: open.length - acked - snoozed, acked, snoozed }
    },

    async ack(id, by) {
      assertBy(by)
      return mark(id, { ackedAt: await now(), ackedBy: by, ...UNSNOOZED }, { ackedAt: null })
    },

    unack: (id) => mark(id, UNACKED, { ackedAt: { not: null } }),

    async snooze(id, until, by) {
      assertBy(by)
      const time = (await now()).getTime()
      if (!(until.getTime() > time && until.getTime() <= time + MAX_SNOOZE_MS))
        throw new OncueError('INVALID_INPUT', 'until must lie ahead, at most a week from now')
      return mark(id, { snoozedUntil: until, snoozedBy: by, ...UNACKED })
    },

    unsnooze: (id) => mark(id, UNSNOOZED, { snoozedUntil: { not: null } }),

    async episodes() {
      const where = { status: { not: 'resolved' } }
      const rows = await client.alert.findMany({ where, orderBy: [{ since: 'asc' }, { id: 'asc' }] })
      return rows.map(toAlert)
    },

    async untold() {
      const rows = await client.alert.findMany({
        where: { notified: { lt: client.alert.fields.transitions } },
        orderBy: [{ updated: 'asc' }, { id: 'asc' }],
        take: 100,
      })
      return rows.map(toAlert)
    },

    async told(id, transitions) {
      const where = { id, notified: { lt: transitions } }
      await client.alert.updateMany({ where, data: { notified: transitions } })
    },

    async prune({ before, limit = 1_000 }) {
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
  const { subject, ackedAt, ackedBy, snoozedUntil, snoozedBy, ...same } = row
  return {
    ...(same as Pick<AlertRow, keyof typeof same>),
    queue: subject || null,
    acked: ackedAt && { at: ackedAt, by: ackedBy ?? '' },
    snoozed: snoozedUntil && { until: snoozedUntil, by: snoozedBy ?? '' },
  }
}
