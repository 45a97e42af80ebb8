import type { AccessClass, Me } from '@oncue/core/wire'
import type { AssertStill } from './validity.ts'

/** The caller of a request. */
export interface Principal extends Omit<Me, 'may'> {
  /** The token's row; null without one. */
  readonly tokenId: string | null
}

export const ANONYMOUS: Principal = {
  kind: 'anonymous',
  id: '',
  name: 'anonymous',
  role: null,
  allowedTopics: null,
  allowedQueues: null,
  tokenId: null,
  expiresAt: null,
}

/** The parts of a request that identify its caller. */
type Credentials = {
  /** The headers of the request. */
  readonly authorization?: string | undefined
  readonly cookie?: string | undefined
  /** Over https only the cookie that is bound to this host counts. */
  readonly isSecure?: boolean | undefined
}

export interface Auth {
  /** The anonymous principal for a request without credentials; UNAUTHORIZED for bad ones. */
  identify(credentials: Credentials): Promise<Principal>
  /** UNAUTHORIZED for callers who have not signed in, FORBIDDEN for the others, HTTP_DISABLED while the API is switched off. */
  authorize(principal: Principal, access: AccessClass): Promise<void>
  /** TOPIC_NOT_ALLOWED unless both the settings and the token allow the topic. */
  assertTopic(principal: Principal, topic: string): Promise<void>
  /** The returned function throws QUEUE_NOT_ALLOWED unless both the settings and the token allow a queue. */
  queueChecker(principal: Principal): Promise<(queue: string) => void>
  /** Whether both allow every queue. */
  allowsEveryQueue(principal: Principal): Promise<boolean>
  /** TOPIC_NOT_ALLOWED unless both allow every topic: a key shared by all topics reveals jobs of any of them. */
  assertAllTopics(principal: Principal): Promise<void>
  /** QUEUE_NOT_ALLOWED unless the token allows every queue: the unique key of a schedule may lead into any of them. */
  assertAllQueues(principal: Principal): void
  /**
   * Aborts when the principal may no longer do this: its token was revoked or has expired, or a setting was
   * changed. One check a second covers all open streams. The signal's reason is the error to return.
   */
  whileValid(
    principal: Principal,
    access?: AccessClass,
    assertStill?: AssertStill,
  ): { readonly signal: AbortSignal; release(): void }
  /** A token or a setting was changed by this process: check at once instead of within a second. */
  changed(): Promise<void>
  /** Makes sure that there is an admin token. Returns it if it was created now: the only time it can be read. */
  bootstrap(): Promise<{ readonly adminToken: string | null }>
  /** Checks open streams no more. */
  stop(): Promise<void>
}
