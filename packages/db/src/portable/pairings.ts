import { createHash, randomInt } from 'node:crypto'
import { LIMITS, newJobId, OncueError } from '@oncue/core'
import { assertText, toInputError } from '@oncue/core/internal'
import {
  allowedQueuesSchema,
  allowedTopicsSchema,
  type DeviceRole,
  type Pairing,
  roleSchema,
  type Token,
} from '@oncue/core/wire'
import { z } from 'zod'
import { isUuid } from '../uuid.ts'
import { parseInput } from './reads/filter.ts'
import { type Fragment, q, type Sql } from './sql.ts'
import {
  readToken,
  type StoredToken,
  type TokenRow,
  toJson,
  tokenHashSchema,
  tokenNameSchema,
  usableAt,
} from './tokens.ts'

export type NewPairing = {
  /** Of the future device. */
  readonly role: DeviceRole
  readonly allowedTopics?: Token['allowedTopics'] | undefined
  readonly allowedQueues?: Token['allowedQueues'] | undefined
  /** The token that creates it, if one does: the code and the device are valid only while it is. */
  readonly makerId?: string | null | undefined
  /** When the validity of a maker that is not a token ends: the code and the device end then too. */
  readonly deviceUntil?: Date | null | undefined
  readonly createdBy: string
  readonly validMs: number
}

type NewPairingCode = Pick<Pairing, 'id' | 'code' | 'expiresAt'>

/** Codes that are typed in or scanned, and exchanged once for the token of a device. */
export interface PairingStore {
  /** The code can be read this once: only its hash is stored. */
  create(pairing: NewPairing): Promise<NewPairingCode>
  /**
   * The new device, whose secret has this hash. PAIRING_REFUSED if the code is wrong, too old or used, or if its
   * maker is no longer valid; when two use the same code at once, one succeeds. How a code is written
   * (capitals, hyphens, spaces) does not matter.
   */
  exchange(device: {
    readonly code: string
    readonly name: string
    readonly hash: string
    /** For how long the device may be idle before it ends; absent: for ever. */
    readonly idleMs?: number | undefined
  }): Promise<TokenRow>
  /** The device that used the code; null until one has. */
  deviceOf(id: string): Promise<TokenRow | null>
}

/** Without characters that are confused when read aloud or typed: 0 and O, 1, I and L. */
const LETTERS = '23456789ABCDEFGHJKMNPQRSTUVWXYZ'
/** 31⁹ is about 2⁴⁴: a thousand guesses a second for five minutes find one code in ninety million. */
const CODE_LENGTH = 9
const GROUP = /.{3}(?=.)/g

/** Used and expired pairings are kept for a day, so that their outcome can be looked up. */
const KEPT_MS = 86_400_000
const MAX_VALID_MS = 86_400_000

const pairingSchema = z.strictObject({
  role: roleSchema.exclude(['producer']),
  allowedTopics: allowedTopicsSchema.optional(),
  allowedQueues: allowedQueuesSchema.optional(),
  makerId: z.uuid().nullish(),
  deviceUntil: z.date().nullish(),
  createdBy: z.string().min(1).max(LIMITS.keyLength),
  validMs: z.int().min(1).max(MAX_VALID_MS),
})

const deviceSchema = z.strictObject({
  code: z.string().max(100),
  name: tokenNameSchema,
  hash: tokenHashSchema,
  idleMs: z.int().min(1).optional(),
})

/** Written once for both databases. */
export function createPairings(sql: Sql): PairingStore {
  return {
    async create(pairing) {
      const parsed = parseInput(pairingSchema, pairing, 'pairing')
      const { role, allowedTopics, allowedQueues, makerId, deviceUntil, createdBy, validMs } = parsed
      const now = await sql.now()
      const [id, code, expiresAt] = [newJobId(now.getTime()), newCode(), new Date(now.getTime() + validMs)]
      await sql.run(
        q`delete from {pairings} where expires_at < ${new Date(now.getTime() - KEPT_MS)}`,
        q`insert into {pairings} (id, code_hash, role, allowed_topics, allowed_queues, maker_id, device_until, created,
            created_by, expires_at)
          values (${id}, ${hashOf(code)}, ${role}, ${toJson(allowedTopics)}, ${toJson(allowedQueues)}, ${makerId ?? null},
            ${deviceUntil ?? null}, ${now}, ${createdBy}, ${expiresAt})`,
      )
      return { id, code, expiresAt }
    },

    async exchange(device) {
      const parsed = deviceSchema.safeParse(device)
      // Without the value, which may be most of a valid code.
      if (!parsed.success) throw toInputError(parsed.error, 'device', undefined)
      assertText(device.name, 'device.name')
      const now = await sql.now()
      const id = newJobId(now.getTime())
      const { idleMs } = parsed.data
      const idleUntil = idleMs === undefined ? null : new Date(now.getTime() + idleMs)
      // Only the call that took the code finds itself in the row.
      const made = await sql.run(
        q`update {pairings} set used_at = ${now}, device_id = ${id}
          where code_hash = ${hashOf(device.code)} and used_at is null and expires_at > ${now}
            and (device_until is null or device_until > ${now})
            and (maker_id is null or exists (select 1 from {tokens} t where t.id = maker_id and ${usableAt(now)}))`,
        // Not valid for longer than the maker of the code.
        q`insert into {tokens} (id, kind, name, role, hash, allowed_topics, allowed_queues, parent_id, created, created_by,
            expires_at, idle_until)
          select p.device_id, 'device', ${device.name}, p.role, ${device.hash}, p.allowed_topics, p.allowed_queues,
            p.maker_id, p.used_at, p.created_by,
            coalesce(p.device_until, (select t.expires_at from {tokens} t where t.id = p.maker_id)), ${idleUntil}
          from {pairings} p where p.device_id = ${id}`,
      )
      const token = made > 0 ? await find(q`${id}`) : null
      if (!token) throw new OncueError('PAIRING_REFUSED', 'This code is not valid')
      return token
    },

    async deviceOf(id) {
      return isUuid(id) ? find(q`(select device_id from {pairings} where id = ${id})`) : null
    },
  }

  async function find(id: Fragment) {
    const [row] = await sql.all<StoredToken>(q`select t.* from {tokens} t where t.id = ${id}`)
    return row ? readToken(sql, row) : null
  }
}

function newCode(): string {
  const letters = Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)])
  return letters.join('').replace(GROUP, '$&-')
}

function hashOf(code: string): string {
  return createHash('sha256')
    .update(code.toUpperCase().replace(/[^0-9A-Z]/g, ''))
    .digest('hex')
}
