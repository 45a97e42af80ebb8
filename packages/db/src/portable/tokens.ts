import { LIMITS, OncueError } from '@oncue/core'
import type { Token } from '@oncue/core/wire'
import { z } from 'zod'
import { isUuid, readByIds } from '../uuid.ts'
import { type Fragment, fieldsOf, list, q, type Sql } from './sql.ts'

export type TokenRow = Token
export type TokenKind = Token['kind']

/**
 * Who may call the API. A token is valid until it expires, is revoked, is a device that was idle for too long,
 * or its maker is no longer valid: a session of a device of a device of a token ends with each of them.
 */
export interface TokenStore {
  /** Creates the first admin of an installation. False: it exists already, whichever process created it. */
  createFirstAdmin(hash: string): Promise<boolean>
  /** Sets the hash of the admin; the secret that it replaces ends, with everything that was made by it. */
  setAdmin(hash: string): Promise<void>
  /** The token of this hash, if it is valid. */
  find(hash: string): Promise<(TokenRow & { readonly hash: string }) | null>
  /** Those of these that are still valid. */
  usable(ids: readonly string[]): Promise<Set<string>>
  /**
   * Revokes a token with all sessions and devices made by it, and by those. Returns how many devices were valid until
   * then. TOKEN_NOT_FOUND for an unknown id; a second call changes nothing.
   */
  revoke(id: string): Promise<{ readonly devices: number }>
  /**
   * Records its use, at most once a minute. A device, also when one of its sessions is used, may be idle for
   * `idleMs` from now.
   */
  touch(id: string, idleMs?: number): Promise<void>
}

/** A fixed id, so that of many processes that start together one creates it. */
const FIRST_ADMIN = '00000000-0000-7000-8000-000000000001'

const MINUTE_MS = 60_000

export const tokenNameSchema = z.string().min(1).max(LIMITS.keyLength)
export const tokenHashSchema = z.string().regex(/^[0-9a-f]{64}$/, 'must be a SHA-256 in hex')

/** Neither `t` nor its maker, nor the maker of that, has ended. */
export const usableAt = (now: Date): Fragment => q`not exists (
  with recursive line as (
    select t.parent_id, t.revoked_at, t.expires_at, t.idle_until
    union all
    select p.parent_id, p.revoked_at, p.expires_at, p.idle_until from {tokens} p join line on p.id = line.parent_id)
  select 1 from line where revoked_at is not null or expires_at <= ${now} or idle_until <= ${now})`

/** Everything that was made by a token, at any depth. */
const madeBy = (id: string): Fragment => q`with recursive made as (
    select m.id from {tokens} m where m.parent_id = ${id}
    union all
    select m.id from {tokens} m join made on m.parent_id = made.id)
  select id from made`

const KINDS = {
  allowed_topics: 'json',
  allowed_queues: 'json',
  created: 'time',
  expires_at: 'time',
  idle_until: 'time',
  last_used: 'time',
  revoked_at: 'time',
} as const

export type StoredToken = { readonly hash: string }

/** A whole row of `tokens`. The hash is for those who look a token up by it. */
export function readToken(sql: Sql, { hash: _, ...row }: StoredToken): TokenRow {
  return fieldsOf(sql, row, KINDS)
}

export const unknownToken = (id: string) =>
  new OncueError('TOKEN_NOT_FOUND', `There is no token ${JSON.stringify(id)}`)

export const toJson = (names: readonly string[] | null | undefined) => (names ? JSON.stringify(names) : null)

/** Written once for both databases. */
export function createTokens(sql: Sql): TokenStore {
  const revokeMadeBy = (parentId: string, now: Date): Fragment =>
    q`update {tokens} set revoked_at = ${now} where id in (${madeBy(parentId)}) and revoked_at is null`

  const insertFirstAdmin = (hash: string, now: Date): Fragment =>
    q`insert into {tokens} (id, kind, name, role, hash, created)
      values (${FIRST_ADMIN}, 'token', 'admin', 'admin', ${hash}, ${now}) on conflict do nothing`

  return {
    async createFirstAdmin(hash) {
      return (await sql.run(insertFirstAdmin(hash, await sql.now()))) > 0
    },

    async setAdmin(hash) {
      const now = await sql.now()
      const isUnknown = q`not exists (select 1 from {tokens} o where o.hash = ${hash})`
      await sql.run(
        insertFirstAdmin(hash, now),
        q`update {tokens} set role = 'admin', allowed_topics = null, allowed_queues = null, expires_at = null, revoked_at = null
          where hash = ${hash}`,
        q`${revokeMadeBy(FIRST_ADMIN, now)} and ${isUnknown}`,
        q`update {tokens} set hash = ${hash}, role = 'admin', expires_at = null, revoked_at = null, last_used = null
          where id = ${FIRST_ADMIN} and ${isUnknown}`,
      )
    },

    async find(hash) {
      const now = await sql.now()
      const [row] = await sql.all<StoredToken>(
        q`select t.* from {tokens} t where t.hash = ${hash} and ${usableAt(now)}`,
      )
      return row ? { ...readToken(sql, row), hash: row.hash } : null
    },

    async usable(ids) {
      const rows = await readByIds(ids, async (known) =>
        sql.all<{ id: string }>(
          q`select t.id from {tokens} t where t.id in (${list(known)}) and ${usableAt(await sql.now())}`,
        ),
      )
      return new Set(rows.map(({ id }) => id))
    },

    async revoke(id) {
      if (!isUuid(id)) throw unknownToken(id)
      const now = await sql.now()
      const devices = await sql.all(
        q`select t.id from {tokens} t where t.kind = 'device' and t.id in (${madeBy(id)}) and ${usableAt(now)}`,
      )
      const revoked = await sql.run(
        revokeMadeBy(id, now),
        q`update {tokens} set revoked_at = coalesce(revoked_at, ${now}) where id = ${id}`,
      )
      if (revoked === 0) throw unknownToken(id)
      return { devices: devices.length }
    },

    async touch(id, idleMs) {
      const now = await sql.now()
      const idleUntil = idleMs === undefined ? null : new Date(now.getTime() + idleMs)
      const aMinuteAgo = new Date(now.getTime() - MINUTE_MS)
      // Using a session of a device counts as using the device.
      await sql.run(q`update {tokens} set last_used = ${now},
          idle_until = case when kind = 'device' then ${idleUntil} else idle_until end
        where (id = ${id} or (kind = 'device'
            and id = (select s.parent_id from {tokens} s where s.id = ${id} and s.kind = 'session')))
          and (last_used is null or last_used <= ${aMinuteAgo}) and (idle_until is null or idle_until > ${now})`)
    },
  }
}
