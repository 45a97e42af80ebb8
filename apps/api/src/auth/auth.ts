import { OncueError } from '@oncue/core'
import { assertOtherTopic } from '@oncue/core/internal'
import { type AccessClass, allows, allowsName } from '@oncue/core/wire'
import type { Store, TokenRow } from '@oncue/db'
import { type Runtime, systemRuntime } from '@oncue/runtime'
import { TtlCache } from '../ttl-cache.ts'
import { readSessionCookie } from './cookie.ts'
import { type JwtVerifier, looksLikeJwt } from './jwt.ts'
import { ANONYMOUS, type Auth, type Principal } from './principal.ts'
import { hashSecret, newSecret, sameHash } from './secret.ts'
import type { LiveSettings } from './settings.ts'
import { Validity } from './validity.ts'

/** A token that another process revoked is refused after this time at the latest. */
const TTL_MS = 1_000
const MAX_KNOWN = 10_000
const MINUTE_MS = 60_000
export const DAY_MS = 86_400_000

export type AuthOptions = {
  readonly store: Pick<Store, 'tokens'>
  readonly settings: LiveSettings
  /** Null: JWTs are not accepted. */
  readonly verifyJwt: JwtVerifier | null
  /** The admin's secret; null: one is created at the first start. */
  readonly adminToken: string | null
  readonly runtime?: Runtime | undefined
}

export function createAuth({
  store,
  settings,
  verifyJwt,
  adminToken,
  runtime = systemRuntime,
}: AuthOptions): Auth {
  const known = new TtlCache<Principal | null>(TTL_MS, MAX_KNOWN, runtime)

  async function find(hash: string, kinds: readonly TokenRow['kind'][]): Promise<Principal | null> {
    const token = await store.tokens.find(hash)
    if (!token || !sameHash(token.hash, hash) || !kinds.includes(token.kind)) return null
    if (token.lastUsed === null || token.lastUsed.getTime() < runtime.now() - MINUTE_MS)
      // A caller is not refused because this cannot be written.
      await touch(token.id).catch(() => {})
    return toPrincipal(token)
  }

  async function touch(id: string): Promise<void> {
    const { deviceIdleDays } = await settings.get()
    await store.tokens.touch(id, deviceIdleDays * DAY_MS)
  }

  async function identifyBearer(header: string): Promise<Principal> {
    const secret = /^bearer +(\S+) *$/i.exec(header)?.[1]
    if (!secret) throw new OncueError('UNAUTHORIZED', 'The header Authorization must be "Bearer <token>"')
    const hash = hashSecret(secret)
    const principal = await known.get(hash, () =>
      verifyJwt && looksLikeJwt(secret) ? verifyJwt(secret) : find(hash, ['token', 'device']),
    )
    if (principal) return principal
    throw new OncueError('UNAUTHORIZED', 'The token is wrong, was revoked or has expired')
  }

  async function identifySession(secret: string): Promise<Principal> {
    const hash = hashSecret(secret)
    // A key of its own, or a session could be used as a bearer token and the reverse.
    const principal = await known.get(`session ${hash}`, () => find(hash, ['session']))
    if (principal) return principal
    throw new OncueError('UNAUTHORIZED', 'The session has expired', { hint: 'Sign in again.' })
  }

  async function authorize(principal: Principal, access: AccessClass): Promise<void> {
    const { kind, role, name } = principal
    const now = await settings.get()
    if (!now.httpEnabled && role !== 'admin') throw new OncueError('HTTP_DISABLED', 'The API is switched off')
    if (allows(now, { signedIn: kind !== 'anonymous', role }, access)) return
    if (kind === 'anonymous')
      throw new OncueError('UNAUTHORIZED', `This needs a token that may ${VERBS[access]}`)
    // It may be a read: the audit, for example, takes a role that may change jobs.
    const has = role ? `its role is ${role}` : 'it has no role'
    const message = `${JSON.stringify(name)} may not do this: it needs a role that may ${VERBS[access]}, and ${has}`
    throw new OncueError('FORBIDDEN', message)
  }

  const validity = new Validity(() => store.tokens, authorize, runtime)

  return {
    identify: async ({ authorization, cookie, isSecure = false }) => {
      if (authorization) return identifyBearer(authorization)
      const session = readSessionCookie(cookie, isSecure)
      return session ? identifySession(session) : ANONYMOUS
    },

    authorize,

    async assertTopic({ allowedTopics, name }, topic) {
      assertOtherTopic(topic)
      if (!allowsName(allowedTopics, topic))
        throw new OncueError('TOPIC_NOT_ALLOWED', `${JSON.stringify(name)} may not enqueue ${topic}`)
      if (!allowsName((await settings.get()).allowedTopics, topic))
        throw new OncueError('TOPIC_NOT_ALLOWED', `The setting allowedTopics does not allow ${topic}`)
    },

    async queueChecker({ allowedQueues, name }) {
      const { allowedQueues: allowed } = await settings.get()
      return (queue) => {
        if (!allowsName(allowedQueues, queue))
          throw new OncueError('QUEUE_NOT_ALLOWED', `${JSON.stringify(name)} may not enqueue into ${queue}`)
        if (!allowsName(allowed, queue))
          throw new OncueError('QUEUE_NOT_ALLOWED', `The setting allowedQueues does not allow ${queue}`)
      }
    },

    allowsEveryQueue: async ({ allowedQueues }) =>
      allowsEvery(allowedQueues) && allowsEvery((await settings.get()).allowedQueues),

    async assertAllTopics({ allowedTopics, name }) {
      const who = `a unique key with scope 'all' needs permission to enqueue every topic`
      if (!allowsEvery(allowedTopics))
        throw new OncueError(
          'TOPIC_NOT_ALLOWED',
          `${JSON.stringify(name)} may enqueue only some topics: ${who}`,
        )
      if (!allowsEvery((await settings.get()).allowedTopics))
        throw new OncueError('TOPIC_NOT_ALLOWED', `The setting allowedTopics allows only some topics: ${who}`)
    },

    assertAllQueues({ allowedQueues, name }) {
      if (allowsEvery(allowedQueues)) return
      throw new OncueError(
        'QUEUE_NOT_ALLOWED',
        `${JSON.stringify(name)} may enqueue into only some queues: a schedule with a unique key needs permission to enqueue into every queue`,
      )
    },

    whileValid: (principal, access = 'read', assertStill) => validity.watch(principal, access, assertStill),

    changed() {
      known.clear()
      return validity.check()
    },

    async bootstrap() {
      if (adminToken !== null) {
        await store.tokens.setAdmin(hashSecret(adminToken))
        return { adminToken: null }
      }
      const secret = newSecret()
      return { adminToken: (await store.tokens.createFirstAdmin(hashSecret(secret))) ? secret : null }
    },

    stop: () => validity.stop(),
  }
}

function allowsEvery(patterns: readonly string[] | null): boolean {
  return patterns === null || patterns.includes('*')
}

const VERBS: Readonly<Record<AccessClass, string>> = {
  enqueue: 'enqueue jobs',
  read: 'see jobs',
  act: 'change jobs',
  edit: 'edit payloads',
  admin: 'administer Oncue',
}

function toPrincipal(token: TokenRow): Principal {
  const { id, name, role, allowedTopics, allowedQueues, kind, parentId, expiresAt } = token
  return {
    kind,
    // A session acts as the token that signed in.
    id: (kind === 'session' && parentId) || id,
    name,
    role,
    allowedTopics,
    allowedQueues,
    tokenId: id,
    expiresAt,
  }
}
