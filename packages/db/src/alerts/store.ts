import { newJobId, OncueError } from '@oncue/core'
import { assertText, INTERNAL_QUEUE } from '@oncue/core/internal'
import type { AlertRow, AlertStore } from '../alerts.ts'
import { assertBy } from '../by.ts'
import { decodeCursor, encodeCursor } from '../reads/cursor.ts'
import { all, type Fragment, q } from '../reads/fragment.ts'
import type { Sql } from '../sql.ts'
import { isUuid } from '../uuid.ts'
import { begin, forget, goOn, readAlert, type StoredAlert } from './rows.ts'

const MAX_SNOOZE_MS = 7 * 86_400_000

/** Written once for both databases. */
export function createAlerts(sql: Sql): AlertStore {
  const read = async (statement: Fragment) =>
    (await sql.all<StoredAlert>(statement)).map((row) => readAlert(sql, row))

  async function get(id: string): Promise<AlertRow> {
    const [alert] = isUuid(id)
      ? await read(q`select * from {alerts} where id = ${id} and status <> 'pending'`)
      : []
    if (!alert) throw new OncueError('ALERT_NOT_FOUND', `There is no alert ${JSON.stringify(id)}`)
    return alert
  }

  async function mark(id: string, set: Fragment, where: Fragment): Promise<AlertRow> {
    if (isUuid(id))
      await sql.run(
        q`update {alerts} set ${set}, updated = ${await sql.now()}
          where id = ${id} and status = 'firing' and ${where}`,
      )
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
      if (!Number.isInteger(limit) || limit < 1 || limit > 1_000)
        throw new OncueError('INVALID_INPUT', `limit must be from 1 to 1000, got ${String(limit)}`)
      const filter = { state, queue }
      const conditions = [state === undefined ? q`status <> 'pending'` : q`status = ${STATUS[state]}`]
      if (queue !== undefined) {
        assertText(queue, 'queue')
        conditions.push(q`subject = ${queue}`)
      }
      if (cursor !== undefined) {
        const { created, id } = decodeCursor(cursor, filter)
        conditions.push(q`(fired_at, id) < (${created}, ${id})`)
      }
      const rows = await read(
        q`select * from {alerts} where ${all(conditions)} order by fired_at desc, id desc limit ${limit + 1}`,
      )
      const items = rows.slice(0, limit)
      const last = items.at(-1)
      const more = rows.length > limit && last?.firedAt
      return { items, nextCursor: more ? encodeCursor({ created: more, id: last.id }, filter) : null }
    },

    async counts() {
      const isSnoozed = q`snoozed_until > ${await sql.now()}`
      const [row] = await sql.all<{ open: number; acked: number; snoozed: number }>(
        q`select count(*) as open, count(*) filter (where acked_at is not null) as acked,
            count(*) filter (where ${isSnoozed}) as snoozed
          from {alerts} where status = 'firing'`,
      )
      const { open = 0, acked = 0, snoozed = 0 } = row ?? {}
      return { firing: open - acked - snoozed, acked, snoozed }
    },

    async ack(id, by) {
      assertBy(by)
      const now = await sql.now()
      const set = q`acked_at = ${now}, acked_by = ${by}, snoozed_until = null, snoozed_by = null`
      return mark(id, set, q`acked_at is null`)
    },

    unack: (id) => mark(id, q`acked_at = null, acked_by = null`, q`acked_at is not null`),

    async snooze(id, until, by) {
      assertBy(by)
      const now = (await sql.now()).getTime()
      if (!(until.getTime() > now && until.getTime() <= now + MAX_SNOOZE_MS))
        throw new OncueError('INVALID_INPUT', 'until must lie ahead, at most a week from now')
      const set = q`snoozed_until = ${until}, snoozed_by = ${by}, acked_at = null, acked_by = null`
      return mark(id, set, q`1 = 1`)
    },

    unsnooze: (id) => mark(id, q`snoozed_until = null, snoozed_by = null`, q`snoozed_until is not null`),

    episodes: () => read(q`select * from {alerts} where status <> 'resolved' order by since, id`),

    async record(at, changes) {
      const statements = changes.flatMap(({ before, after, ...ends }) => {
        if (before && after) return goOn(before, after, at, ends)
        if (after) return begin(newJobId(at.getTime()), after, at)
        return before ? forget(before) : []
      })
      // What lies between was looked at since, by another; what lies ahead, before the clock was set back.
      const isOlder = q`looked_at not between ${at} and ${await sql.now()}`
      await sql.run(
        ...statements,
        q`update {alerts} set looked_at = ${at} where status <> 'resolved' and ${isOlder}`,
      )
    },

    untold: () => read(q`select * from {alerts} where notified < transitions order by updated, id limit 100`),

    async told(id, transitions) {
      await sql.run(
        q`update {alerts} set notified = ${transitions} where id = ${id} and notified < ${transitions}`,
      )
    },

    async wasBusy(since, queue) {
      const where = q`minute >= ${since} and completed + failed > 0
        and ${queue === null ? q`queue <> ${INTERNAL_QUEUE}` : q`queue = ${queue}`}`
      const rows = await sql.all(q`select 1 from {stats} where ${where}
        union all select 1 from {stat_deltas} where ${where} limit 1`)
      return rows.length > 0
    },

    prune: ({ before, limit = 1_000 }) =>
      sql.run(q`delete from {alerts} where id in (select id from {alerts}
        where status = 'resolved' and resolved_at < ${before} order by resolved_at limit ${limit})`),
  }
}

const STATUS = { open: 'firing', resolved: 'resolved' } as const
